//! The request for a chat completion, as each server takes it. What is unset is left out.

use domain::prompt::{Message, Prompt, Tool, ToolCall};
use serde_json::{Value, json};

use crate::{llm::client::Request, name::path_segment, settings::Endpoint};

/// The most tokens of one reply: about two minutes of speech, with its tool calls.
const MOST_TOKENS: u32 = 2_048;

/// The most tokens of an answer in JSON about a whole call.
const MOST_SHAPED_TOKENS: u32 = 4_096;

/// The version of Azure's interface; the newest that is generally available.
const AZURE_VERSION: &str = "2024-10-21";

/// Taken by Gemini in the place of a signature of its own, for calls that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Who serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    OpenAi,
    Azure,
    Groq,
    Gemini,
    /// Ollama, vLLM, llama.cpp.
    Local,
}

impl Server {
    pub(super) fn of(provider: &str) -> Self {
        match provider {
            "openai" => Self::OpenAi,
            "azure" => Self::Azure,
            "groq" => Self::Groq,
            "gemini" => Self::Gemini,
            _ => Self::Local,
        }
    }

    fn reasons(self, model: &str) -> bool {
        let reasoning = ["o1", "o3", "o4", "gpt-5"].iter().any(|name| model.starts_with(name));
        matches!(self, Self::OpenAi | Self::Azure) && reasoning && !model.contains("chat")
    }
}

/// The request, for a reply or for an answer in JSON of a schema.
pub(crate) fn request(endpoint: &Endpoint, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Request {
    let server = Server::of(endpoint.provider);
    let key = match server {
        Server::Azure => endpoint.key_header("api-key", ""),
        _ => endpoint.key_header("authorization", "Bearer "),
    };
    Request {
        url: url(server, endpoint, model),
        headers: key.into_iter().collect(),
        body: body(server, endpoint.provider, model, prompt, schema),
    }
}

/// Where it is sent.
fn url(server: Server, endpoint: &Endpoint, model: &str) -> String {
    let base = endpoint.base_url.as_str();
    if server != Server::Azure || base.ends_with("/openai/v1") {
        return endpoint.url("/chat/completions");
    }
    let base = base.strip_suffix("/openai").unwrap_or(base);
    let deployment = path_segment(model);
    format!("{base}/openai/deployments/{deployment}/chat/completions?api-version={AZURE_VERSION}")
}

fn body(server: Server, provider: &str, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": prompt.stable })];
    for message in &prompt.messages {
        push(server, provider, message, &mut messages);
    }
    tell_last(&prompt.changing, &mut messages);
    let mut body = json!({ "model": model, "messages": messages });
    if !prompt.tools.is_empty() {
        body["tools"] = prompt.tools.iter().map(tool).collect();
    }
    body["stream"] = true.into();
    if let Some(options) = stream_options(server) {
        body["stream_options"] = options;
    }
    if server.reasons(model) {
        // These think first, unless told not to, and take no temperature. Thoughts count as tokens.
        if let Some(effort) = effort(model) {
            body["reasoning_effort"] = effort.into();
        }
    } else {
        body["temperature"] = figure(prompt.temperature);
        if let Some(bound) = bound(server) {
            body[bound] = if schema.is_some() {
                MOST_SHAPED_TOKENS
            } else {
                MOST_TOKENS
            }
            .into();
        }
    }
    if let Some(schema) = schema {
        // A server that does not take the shape still reads it in the instructions.
        let format = json!({ "name": "report", "strict": true, "schema": schema });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
    }
    body
}

fn stream_options(server: Server) -> Option<Value> {
    match server {
        Server::OpenAi => Some(json!({ "include_usage": true, "include_obfuscation": false })),
        Server::Azure | Server::Gemini | Server::Local => Some(json!({ "include_usage": true })),
        // It tells its usage anyway, in `x_groq`.
        Server::Groq => None,
    }
}

/// How much a reasoning model is to think, where it can be told: as little as it can.
fn effort(model: &str) -> Option<&'static str> {
    if model == "gpt-5" || model.starts_with("gpt-5-") {
        return Some("minimal");
    }
    model.starts_with('o').then_some("low")
}

/// The field that bounds a reply.
fn bound(server: Server) -> Option<&'static str> {
    match server {
        Server::OpenAi | Server::Azure | Server::Groq => Some("max_completion_tokens"),
        Server::Local => Some("max_tokens"),
        // Its thoughts count too, and would leave nothing for words.
        Server::Gemini => None,
    }
}

/// A whole figure as an integer.
fn figure(value: f64) -> Value {
    match value.fract() == 0.0 {
        true => Value::from(value as i64),
        false => Value::from(value),
    }
}

fn push(server: Server, provider: &str, message: &Message, messages: &mut Vec<Value>) {
    match message {
        Message::User(text) => messages.push(json!({ "role": "user", "content": text })),
        Message::Agent { text, calls } => {
            let mut said = json!({ "role": "assistant" });
            if !text.is_empty() || calls.is_empty() {
                said["content"] = text.as_str().into();
            }
            if !calls.is_empty() {
                let calls = calls.iter().enumerate();
                let calls = calls.map(|(index, call)| tool_call(server, provider, index, call));
                said["tool_calls"] = calls.collect();
            }
            messages.push(said);
        }
        Message::Results(results) => {
            messages.extend(results.iter().map(
                |result| json!({ "role": "tool", "tool_call_id": result.id, "content": result.result.to_string() }),
            ));
        }
    }
}

/// Puts what changes behind the user's last words. Not into a message of its own, which some servers take from nobody
/// but in turns; nor behind a tool's result, which it is no part of.
fn tell_last(changing: &str, messages: &mut [Value]) {
    let last = messages.iter_mut().rfind(|message| message["role"] == "user");
    if let Some(message) = last.filter(|_| !changing.is_empty()) {
        message["content"] = format!("{}\n{changing}", message["content"].as_str().unwrap_or_default()).into();
    }
}

/// A call with what its own provider put into it; another one would refuse that.
fn tool_call(server: Server, provider: &str, index: usize, call: &ToolCall) -> Value {
    let mut told = json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments.to_string() },
    });
    let echo = call.echo.as_ref().and_then(|echo| echo.get(provider));
    for (name, value) in echo.and_then(Value::as_object).into_iter().flatten() {
        match (name.as_str(), value.as_object()) {
            ("function", Some(fields)) => {
                for (name, value) in fields {
                    told["function"][name] = value.clone();
                }
            }
            _ => told[name] = value.clone(),
        }
    }
    // Only the first call of a message bears a signature.
    if server == Server::Gemini && index == 0 && told.get("extra_content").is_none() {
        told["extra_content"] = json!({ "google": { "thought_signature": NO_SIGNATURE } });
    }
    told
}

fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
    })
}
