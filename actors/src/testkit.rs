//! Fakes and suites for tests of this crate and of the root.

pub mod memory_store;
pub mod scripted_stream;
