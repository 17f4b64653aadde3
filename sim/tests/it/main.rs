//! Tests of the simulated exchange, and of scripted conversations over it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exchange;
mod scenarios;
