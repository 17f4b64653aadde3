//! Voices: the interface of a provider, its speech on a socket or in an HTTP response, and OpenAI's `/audio/speech`.

pub(crate) mod alignment;
pub(crate) mod frames;
pub(crate) mod http_audio;
pub(crate) mod protocol;
pub(crate) mod provider;
pub(crate) mod raw_audio;
pub(crate) mod refusal;
pub(crate) mod socket;
pub(crate) mod speech;
pub(crate) mod spoken_text;
pub(crate) mod takes;
