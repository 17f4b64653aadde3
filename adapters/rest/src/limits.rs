//! Limits on requests: how often, and how many at once.

pub mod concurrency_limit;
pub mod rate_limit;
