//! Test tools: a store in memory, the suite that every store must pass, and fakes of the other ports.

pub mod fake_carrier;
pub mod fake_health;
pub mod fake_knowledge;
pub mod fake_language;
pub mod fake_ports;
pub mod fake_services;
pub mod fake_speech;
pub mod fake_tools;
pub mod memory_store;
pub mod store_conformance;
