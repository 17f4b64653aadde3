//! What several providers share: the interfaces of language models, recognisers and voices, and common protocols.

pub(crate) mod llm;
pub(crate) mod stt;
pub(crate) mod tts;
