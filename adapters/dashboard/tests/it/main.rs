//! Tests of the dashboard's files and pages, as browsers get them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles;
mod served;
