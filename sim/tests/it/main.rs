//! The simulated exchange, and the scripted conversations over it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod exchange;
mod scenarios;
