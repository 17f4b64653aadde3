//! Request for a chat completion in the form each server accepts. Unset fields are left out.

use domain::prompt::{Message, Prompt, Tool, ToolCall};
use serde_json::{Value, json};

use crate::{llm::client::Request, name::path_segment, settings::Endpoint};

/// Maximum tokens of one reply: about two minutes of speech, with its tool calls.
const MOST_TOKENS: u32 = 2_048;

/// Maximum tokens of an answer in JSON about a whole call.
const MOST_SHAPED_TOKENS: u32 = 4_096;

/// Version of Azure's API, the newest that is generally available.
const AZURE_VERSION: &str = "2024-10-21";

/// Value that Gemini accepts in place of its own signature, for calls that another model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Kind of server.
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

    /// Returns whether a model thinks first and accepts neither a temperature nor a limit of its words alone.
    fn reasons(self, model: &str) -> bool {
        let reasoning = ["o1", "o3", "o4"].iter().any(|name| model.starts_with(name));
        let reasoning = reasoning || gpt(model).is_some();
        matches!(self, Self::OpenAi | Self::Azure) && reasoning && !model.contains("chat")
    }

    /// Returns the lowest reasoning effort that a model accepts by its provider's documents, if it can be set.
    fn effort(self, model: &str) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::Azure if !self.reasons(model) => None,
            Self::OpenAi | Self::Azure => match gpt(model) {
                Some((5, 0)) => Some("minimal"),
                Some(_) => Some("none"),
                None => Some("low"),
            },
            Self::Gemini => gemini_effort(model),
            // Reasoning cannot be switched off in gpt-oss, but in Groq's Qwen3.
            Self::Groq | Self::Local if model.contains("gpt-oss") => Some("low"),
            Self::Groq if model.contains("qwen3") => Some("none"),
            Self::Groq | Self::Local => None,
        }
    }
}

/// Builds the request for a reply, or for an answer in JSON if there is a schema.
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

/// Returns the address of the request.
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
    // Models that reason do so before each reply unless told not to.
    if let Some(effort) = server.effort(model) {
        body["reasoning_effort"] = effort.into();
    }
    // Their thoughts count as tokens.
    if !server.reasons(model) {
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
        // A server that does not support `response_format` still finds the schema in the instructions.
        let format = json!({ "name": "report", "strict": true, "schema": schema });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
    }
    body
}

fn stream_options(server: Server) -> Option<Value> {
    match server {
        Server::OpenAi => Some(json!({ "include_usage": true, "include_obfuscation": false })),
        Server::Azure | Server::Gemini | Server::Local => Some(json!({ "include_usage": true })),
        // Groq always reports usage, in `x_groq`.
        Server::Groq => None,
    }
}

/// Returns the version of an OpenAI model of the fifth generation or later: 5 and 1 for `gpt-5.1-mini`.
fn gpt(model: &str) -> Option<(u32, u32)> {
    // Azure writes `gpt-35-turbo`.
    version(model.strip_prefix("gpt-")?).filter(|(major, _)| (5..=9).contains(major))
}

/// Returns the lowest effort of a Gemini model (ai.google.dev/gemini-api/docs/openai): only 2.5 Flash can be told
/// not to think at all.
fn gemini_effort(model: &str) -> Option<&'static str> {
    let name = model.strip_prefix("models/").unwrap_or(model).strip_prefix("gemini-")?;
    match (version(name), name.contains("flash")) {
        (Some(version), _) if version < (2, 5) => None,
        (Some((2, _)), true) => Some("none"),
        (Some(_), true) => Some("minimal"),
        _ => Some("low"),
    }
}

/// Returns the version at the beginning of a name: 2 and 5 for `2.5-flash`, 3 and 0 for `3-flash`.
fn version(name: &str) -> Option<(u32, u32)> {
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the name of the field that limits a reply's tokens.
fn bound(server: Server) -> Option<&'static str> {
    match server {
        Server::OpenAi | Server::Azure | Server::Groq => Some("max_completion_tokens"),
        Server::Local => Some("max_tokens"),
        // Gemini's thoughts count too, and would leave nothing for words.
        Server::Gemini => None,
    }
}

/// Returns a number as an integer if it is whole.
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

/// Appends the changing part of the prompt to the user's last message. It does not get a message of its own,
/// because some servers require the roles to alternate. It does not follow a tool's result either, because it
/// is not part of it.
fn tell_last(changing: &str, messages: &mut [Value]) {
    let last = messages.iter_mut().rfind(|message| message["role"] == "user");
    if let Some(message) = last.filter(|_| !changing.is_empty()) {
        message["content"] = format!("{}\n{changing}", message["content"].as_str().unwrap_or_default()).into();
    }
}

/// Returns a call with the fields that the same provider put into it. Another provider would refuse them.
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
    // Only the first call of a message has a signature.
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
