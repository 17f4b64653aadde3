//! Groq: OpenAI's protocols. It always reports usage, in a field of its own.

use crate::{
    endpoint::hosted,
    protocols::llm::chat::{Chat, gpt_oss_effort},
    provider::{Llm, MODELS, Provider, Stt},
};

pub(super) static GROQ: Provider = Provider {
    name: "groq",
    address: Some(hosted!("GROQ", "https://api.groq.com/openai/v1")),
    llm: Llm::api(
        "openai/gpt-oss-120b",
        &Chat {
            effort,
            stream_options: &[],
            limit: Some("max_completion_tokens"),
            ..Chat::PLAIN
        },
    ),
    stt: Stt::clips("whisper-large-v3-turbo", 1_540),
    models: Some(MODELS),
    ends: &[("llama-3.3-70b-versatile", "2026-08")],
    ..Provider::NONE
};

/// Returns the lowest effort of a model. Qwen3 can be told not to think, gpt-oss cannot.
fn effort(model: &str) -> Option<&'static str> {
    gpt_oss_effort(model).or_else(|| model.contains("qwen3").then_some("none"))
}
