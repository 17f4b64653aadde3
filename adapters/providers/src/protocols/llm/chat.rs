//! Streamed chat completions of OpenAI, and the differences of compatible servers.

mod calls;
mod request;
mod stream;

pub(crate) use self::{
    calls::arguments,
    request::{Chat, gpt_oss_effort, version},
};
