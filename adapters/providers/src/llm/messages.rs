//! Streamed messages API of Anthropic.

mod request;
mod stream;

pub(super) use self::{request::request, stream::MessageStream};
