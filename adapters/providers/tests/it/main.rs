//! Tests of providers over sockets, against stubs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod analysis_models;
mod default_models;
mod language;
mod language_faults;
mod language_formats;
mod language_silence;
mod privacy;
mod prompt_cache;
mod readiness;
mod refused;
mod stt;
mod tts;
