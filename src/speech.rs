//! Speech providers: adapters of the ports `Synthesizer` and `Transcriber`.

mod aura;
pub mod babble;
mod cache;
mod cartesia;
mod elevenlabs;
mod espeak;
pub mod imperfect;
mod openai_speech;
pub mod voices;
