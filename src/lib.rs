//! Ringback: a self-hosted service for AI voice agents that place and receive phone calls.
//!
//! Doors and adapters: all that touches network or disk. The domain lives in `actors`, the audio in `media`.

pub mod accounts;
pub mod address_policy;
pub mod analysis_worker;
pub mod api_client;
pub mod api_key;
pub mod app;
pub mod bench;
pub mod calendars;
pub mod carriers;
pub mod cli;
pub mod config;
pub mod deliveries;
pub mod demo;
pub mod dial_journal;
pub mod documents;
pub mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod http_client;
pub mod http_tools;
pub mod knowledge;
pub mod language;
pub mod load;
mod log_gate;
pub mod peers;
pub mod providers;
pub mod recordings;
pub mod rest;
pub mod retention;
pub mod samples;
pub mod scenarios;
pub mod server;
pub mod speech;
pub mod storage;
pub mod stub_carriers;
pub mod stub_providers;
pub mod telemetry;
pub mod widget;
