//! Streamed messages API of Anthropic.

mod request;
mod stream;

pub(crate) use self::request::VERSION;
pub(super) use self::{request::request, stream::MessageStream};
