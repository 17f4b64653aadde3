//! Gemini: OpenAI's protocols, with signed tool calls.

use serde_json::{Value, json};

use crate::{
    endpoint::hosted,
    protocols::llm::chat::{Chat, version},
    provider::{Llm, MODELS, Provider},
};

/// Value that is accepted in place of its own signature, for calls that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) static GEMINI: Provider = Provider {
    name: "gemini",
    address: Some(hosted!(
        "GEMINI",
        "https://generativelanguage.googleapis.com/v1beta/openai"
    )),
    llm: Llm::api(
        "gemini-3.8-flash",
        &Chat {
            effort,
            // Its thoughts count too, and would leave nothing for words.
            limit: None,
            complete: sign,
            ..Chat::PLAIN
        },
    ),
    embeddings: true,
    models: Some(MODELS),
    ends: &[("gemini-2.5-flash", "2026-12-01")],
    ..Provider::NONE
};

/// Returns the lowest effort of a model (ai.google.dev/gemini-api/docs/openai): only 2.5 Flash can be told not to
/// think at all.
fn effort(model: &str) -> Option<&'static str> {
    let name = model.strip_prefix("models/").unwrap_or(model).strip_prefix("gemini-")?;
    match (version(name), name.contains("flash")) {
        (Some(version), _) if version < (2, 5) => None,
        (Some((2, _)), true) => Some("none"),
        (Some(_), true) => Some("minimal"),
        _ => Some("low"),
    }
}

/// Signs a call that has no signature. Only the first call of a message has one.
fn sign(call: &mut Value, index: usize) {
    if index == 0 && call.get("extra_content").is_none() {
        call["extra_content"] = json!({ "google": { "thought_signature": NO_SIGNATURE } });
    }
}
