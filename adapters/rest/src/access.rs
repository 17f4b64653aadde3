//! Access: the keys, sessions, scopes and origins that let a request pass, and its idempotency.

pub mod idempotency;

pub mod admission;
pub mod auth;
pub mod cors;
pub mod key_uses;
pub mod scopes;
pub mod session;
