//! Speech providers: adapters of the ports `Synthesizer` and `Transcriber`.

pub mod babble;
mod deepgram_listen;
pub mod ears;
mod flux;
pub mod imperfect;
mod scribe;
mod transcriptions;
