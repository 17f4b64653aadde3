//! Speech providers: adapters of the ports `Synthesizer` and `Transcriber`.

pub mod babble;
pub mod imperfect;
