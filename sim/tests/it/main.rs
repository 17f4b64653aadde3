//! The simulated exchange, and the scripted conversations over it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exchange;
mod scenarios;
