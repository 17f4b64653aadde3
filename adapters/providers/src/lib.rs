//! Providers of language models, speech recognition, speech synthesis and embeddings, with their names,
//! addresses and health.

pub mod babble;
pub mod catalog;
pub mod check;
pub mod config;
pub mod configured;
pub mod defaults;
mod failure;
pub mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
pub mod health;
pub mod hints;
mod json;
pub mod knowledge;
pub mod limits;
pub mod llm;
pub mod name;
pub mod probe;
pub mod prober;
pub mod services;
pub mod settings;
pub mod stt;
pub mod summary;
pub mod tts;
