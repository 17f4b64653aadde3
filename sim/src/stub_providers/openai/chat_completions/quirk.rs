//! Deviations of servers that use OpenAI's protocol, each selected by a model's name.

use serde_json::{Value, json};

use crate::stub_providers::{language_model::halves, openai::refusal::Refusal};

/// Deviations of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// OpenAI itself.
    None,
    /// A first chunk without choices, null deltas, chunks with annotations only.
    Azure,
    /// Calls that are whole in one delta, all numbered 0; thoughts in `reasoning`.
    Ollama,
    /// Calls without a number that end with `stop`, and a signature that must come back.
    Gemini,
    /// Thoughts in `reasoning_content`, a call cut short by the limit, and always `tool_calls` as the finish reason.
    Vllm,
    /// Usage in `x_groq`, and fields that are refused.
    Groq,
    /// Thoughts that leak into the words.
    Think,
    /// A model that accepts neither a temperature nor a token limit.
    Strict,
    /// A model of Ollama that cannot call tools.
    Toolless,
}

const REFUSED_BY_GROQ: [&str; 5] = ["logprobs", "top_logprobs", "logit_bias", "n", "stream_options"];

impl Quirk {
    /// Returns the deviations of a model, such as `quirk-gemini`.
    pub(super) fn of(model: &str) -> Self {
        match model {
            "quirk-azure" => Self::Azure,
            "quirk-ollama" => Self::Ollama,
            "quirk-gemini" => Self::Gemini,
            "quirk-vllm" => Self::Vllm,
            "quirk-groq" => Self::Groq,
            "quirk-think" => Self::Think,
            "quirk-strict" => Self::Strict,
            "quirk-toolless" => Self::Toolless,
            _ => Self::None,
        }
    }

    /// Returns an error that names the field if this server refuses one.
    pub(super) fn refuses(self, request: &Value) -> Result<(), Refusal> {
        if self == Self::Toolless && request.get("tools").is_some() {
            return Err((
                "registry.ollama.ai/library/quirk-toolless does not support tools".into(),
                None,
            ));
        }
        let refused: &[&'static str] = match self {
            Self::Groq => &REFUSED_BY_GROQ,
            Self::Strict => &["temperature", "max_completion_tokens", "max_tokens"],
            _ => &[],
        };
        let given = refused.iter().find(|field| request.get(**field).is_some());
        given.map_or(Ok(()), |field| {
            Err((
                format!("Unsupported parameter: '{field}' is not supported with this model."),
                Some(*field),
            ))
        })
    }

    /// Returns the chunks before the role.
    pub(super) fn before(self, chunk: impl Fn(&Value) -> String) -> Vec<String> {
        match self {
            Self::Azure => vec![chunk(&json!([]))],
            _ => Vec::new(),
        }
    }

    /// Returns the chunks before the last one.
    pub(super) fn after(self, chunk: impl Fn(&Value) -> String) -> Vec<String> {
        match self {
            Self::Azure => {
                let annotated =
                    json!([{ "index": 0, "delta": null, "finish_reason": null, "content_filter_results": {} }]);
                vec![chunk(&annotated)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the deltas of words.
    pub(super) fn words(self, tokens: &[&str]) -> Vec<Value> {
        let content = |text: &str| json!({ "content": text });
        let mut deltas: Vec<Value> = match self {
            Self::Ollama => vec![
                json!({ "content": "", "reasoning": "They want" }),
                json!({ "reasoning": " something." }),
            ],
            Self::Vllm => vec![json!({ "reasoning_content": "They want something." })],
            Self::Think => ["<th", "ink>They want", " something.</thi", "nk>", "\n\n"]
                .map(content)
                .to_vec(),
            _ => Vec::new(),
        };
        deltas.extend(tokens.iter().map(|token| content(token)));
        deltas
    }

    /// Returns the deltas of tool calls.
    pub(super) fn calls(self, calls: &[(String, Value)]) -> Vec<Value> {
        let mut deltas = Vec::new();
        match self {
            Self::Ollama if !calls.is_empty() => {
                let whole = calls.iter().enumerate().map(|(at, (name, arguments))| {
                    json!({ "index": 0, "id": format!("call_{at}"), "type": "function",
                            "function": { "name": name, "arguments": arguments.to_string() } })
                });
                deltas.push(json!({ "role": "assistant", "content": "", "tool_calls": whole.collect::<Vec<_>>() }));
            }
            Self::Gemini => {
                for (at, (name, arguments)) in calls.iter().enumerate() {
                    let mut call = json!({ "id": format!("function-call-{at}"), "type": "function",
                                           "function": { "name": name, "arguments": arguments.to_string() } });
                    if at == 0 {
                        call["extra_content"] = json!({ "google": { "thought_signature": "c2lnbmF0dXJl" } });
                    }
                    deltas.push(json!({ "role": "assistant", "tool_calls": [call] }));
                }
            }
            _ => {
                for (at, (name, arguments)) in calls.iter().enumerate() {
                    let first = json!({ "index": at, "id": format!("call_{at}"), "type": "function",
                                        "function": { "name": name, "arguments": "" } });
                    deltas.push(json!({ "tool_calls": [first] }));
                    let (begin, end) = halves(&arguments.to_string());
                    for piece in [begin, end] {
                        let piece = json!({ "index": at, "function": { "arguments": piece } });
                        deltas.push(json!({ "tool_calls": [piece] }));
                    }
                }
            }
        }
        deltas
    }

    pub(super) fn finish_reason(self, calls: bool) -> &'static str {
        match (self, calls) {
            (Self::Vllm, _) => "tool_calls",
            (Self::Gemini, _) | (_, false) => "stop",
            (_, true) => "tool_calls",
        }
    }
}
