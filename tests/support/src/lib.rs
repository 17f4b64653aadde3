//! What the tests of behaviour share: the real server on a port of its own, and a tiny client.

#![expect(missing_docs, clippy::new_without_default, reason = "a test reads better without")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

pub mod app;
pub mod board;
pub mod certificate;
pub mod client;
pub mod contract;
pub mod fake_actor;
pub mod model_stubs;
pub mod pdf;
pub mod phone_log;
pub mod postgres;
pub mod program;
pub mod sink;
pub mod switchboard;
pub mod web;
pub mod words;
pub mod world;
