//! Fakes, suites and scripted callers, for tests of this crate and of the root.

pub mod fake_carrier;
pub mod fake_health;
pub mod fake_knowledge;
pub mod fake_language;
pub mod fake_ports;
pub mod fake_speech;
pub mod fake_tools;
pub mod memory_store;
pub mod scripted_stream;
pub mod store_conformance;
