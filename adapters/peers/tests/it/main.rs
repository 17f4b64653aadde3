//! Nodes that pass requests and sockets on to each other.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod peers;
