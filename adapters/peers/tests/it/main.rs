//! Tests of nodes that forward requests and sockets to each other.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod peers;
