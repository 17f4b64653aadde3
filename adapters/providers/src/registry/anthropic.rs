//! Anthropic: language models with a streamed API of their own.

mod request;
mod stream;

use domain::prompt::{Prompt, Tool};
use serde_json::Value;

use crate::{
    endpoint::{Address, Endpoint, hosted},
    protocols::llm::{api::LanguageApi, format::Format, reply_stream::Protocol},
    provider::{List, Llm, Provider},
};

pub(super) static ANTHROPIC: Provider = Provider {
    name: "anthropic",
    address: Some(Address {
        key_header: ("x-api-key", ""),
        headers: &[("anthropic-version", "2023-06-01")],
        ..hosted!("ANTHROPIC", "https://api.anthropic.com")
    }),
    llm: Llm::api("claude-haiku-5-5", &Messages),
    models: Some(List {
        path: "/v1/models?limit=100",
        items: "data",
        page: Some("after_id"),
    }),
    ends: &[("claude-sonnet-4-5", "2026-11-30")],
    ..Provider::NONE
};

/// The messages API.
struct Messages;

impl LanguageApi for Messages {
    fn url(&self, endpoint: &Endpoint, _model: &str) -> String {
        endpoint.url("/v1/messages")
    }

    fn body(&self, _provider: &str, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value {
        request::body(model, prompt, schema)
    }

    fn reader(&self, _provider: &'static str, _format: Format, _tools: &[Tool]) -> Box<dyn Protocol> {
        Box::new(stream::MessageStream::default())
    }
}
