//! Language models: the interface of a provider, event streams, and OpenAI's chat completions.

pub(crate) mod api;
pub(crate) mod chat;
pub mod format;
pub(crate) mod halves;
pub(crate) mod refusal;
pub(crate) mod reply_stream;
pub(crate) mod sse;
pub(crate) mod written;
pub(crate) mod written_call;
