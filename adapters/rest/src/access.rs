//! Who may do what, and how often: keys, scopes, sessions, origins, limits.

pub mod admission;
pub mod auth;
pub mod concurrency_limit;
pub mod cors;
pub mod key_uses;
pub mod rate_limit;
pub mod scopes;
pub mod session;
pub mod site;
