//! Interfaces of language models, recognisers and voices, and protocols that several providers share.

pub(crate) mod llm;
pub(crate) mod stt;
pub(crate) mod tts;
