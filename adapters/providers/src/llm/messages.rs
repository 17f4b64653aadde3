//! Anthropic's messages, streamed.

mod request;
mod stream;

pub(super) use self::{request::request, stream::MessageStream};
