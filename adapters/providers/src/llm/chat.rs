//! Streamed chat completions of OpenAI, and the differences of compatible servers.

mod calls;
mod request;
mod stream;

pub(super) use self::{calls::arguments, request::request, stream::ChatStream};
