//! Carriers for tests, on real sockets and in the real ones' words. They take faults by order.

pub mod telnyx;
