//! Tests of calendars, deliveries and HTTP tools, mostly from within calls.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calendars;
mod deliveries;
mod http_tools;
mod tools_reach;
