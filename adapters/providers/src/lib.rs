//! Providers of language models, speech recognition, speech synthesis and embeddings, with their names,
//! addresses and health.

pub mod catalog;
mod endpoint;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
mod json;
pub mod knowledge;
pub mod llm;
pub mod name;
mod protocols;
pub mod provider;
pub mod registry;
pub mod service;
pub mod settings;
pub mod stt;
pub mod tts;

pub use protocols::llm::format;
pub use registry::babble;
pub use service::{check, config, configured, health, limits, prober, services, summary};
