//! Speech providers: adapters of the ports `Synthesizer` and `Transcriber`.

mod aura;
pub mod babble;
mod cache;
mod cartesia;
mod deepgram_listen;
pub mod ears;
mod elevenlabs;
mod espeak;
mod flux;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzed;
pub mod imperfect;
mod openai_speech;
mod scribe;
mod transcriptions;
pub mod voices;
