//! OpenAI's chat completions, streamed, and what servers that speak alike do otherwise.

mod calls;
mod request;
mod stream;

pub(super) use self::{calls::arguments, request::request, stream::ChatStream};
