//! Simulated phones behind an exchange, stubs of carriers and providers, and scripted conversations.

pub mod exchange;
pub mod samples;
pub mod scenarios;
pub mod schema;
pub mod stub_carriers;
pub mod stub_providers;
