//! Who may do what, and how often: keys, scopes, sessions, origins, limits.

pub mod idempotency;

pub mod admission;
pub mod auth;
pub mod cors;
pub mod key_uses;
pub mod scopes;
pub mod session;
