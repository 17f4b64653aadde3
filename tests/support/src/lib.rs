//! Shared parts of the behaviour tests: the real server on a free port, and a small client.

#![expect(missing_docs, clippy::new_without_default, reason = "a test reads better without")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

pub mod app;
pub mod board;
pub mod certificate;
pub mod client;
pub mod contract;
pub mod dump;
pub mod fake_actor;
pub mod model_stubs;
pub mod pdf;
pub mod phone_audio;
pub mod phone_log;
pub mod postgres;
pub mod program;
pub mod sink;
pub mod switchboard;
pub mod web;
pub mod words;
pub mod world;
