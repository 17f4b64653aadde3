//! The request for a message: instructions at the top, tool results as blocks of the user's message.

use domain::prompt::{Message, Prompt};
use serde_json::{Value, json};

use crate::{llm::client::Request, settings::Endpoint};

/// The most tokens of one reply: about two minutes of speech, with its tool calls.
const MOST_TOKENS: u32 = 2_048;

/// The most tokens of an answer in JSON about a whole call.
const MOST_SHAPED_TOKENS: u32 = 4_096;

/// The version of the interface.
const VERSION: &str = "2023-06-01";

/// The request, for a reply or for an answer in JSON of a schema.
pub(crate) fn request(endpoint: &Endpoint, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Request {
    let version = ("anthropic-version", VERSION.to_owned());
    Request {
        url: endpoint.url("/v1/messages"),
        headers: std::iter::once(version)
            .chain(endpoint.key_header("x-api-key", ""))
            .collect(),
        body: body(model, prompt, schema),
    }
}

fn body(model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value {
    let mut messages = messages(&prompt.messages);
    if let Some(blocks) = messages.last_mut().and_then(|last| last["content"].as_array_mut()) {
        // And the call so far, which the next request begins with.
        if let Some(block) = blocks.last_mut() {
            block["cache_control"] = json!({ "type": "ephemeral" });
        }
        if !prompt.changing.is_empty() {
            blocks.push(json!({ "type": "text", "text": prompt.changing }));
        }
    }
    let mut body = json!({
        "model": model,
        "max_tokens": MOST_TOKENS,
        // What stays the same from reply to reply is kept in the provider's cache, with the tools before it.
        "system": [{ "type": "text", "text": prompt.stable, "cache_control": { "type": "ephemeral" } }],
        "messages": messages,
    });
    if !prompt.tools.is_empty() {
        let tools = prompt
            .tools
            .iter()
            .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }));
        body["tools"] = tools.collect();
    }
    // OpenAI's goes to 2, this one to 1.
    body["temperature"] = prompt.temperature.clamp(0.0, 1.0).into();
    body["stream"] = true.into();
    if let Some(schema) = schema {
        // The answer is the arguments of the one tool `report`.
        let tool = json!({ "name": "report", "description": "Takes the report on the call.", "input_schema": schema });
        body["tools"] = json!([tool]);
        body["tool_choice"] = json!({ "type": "tool", "name": "report" });
        body["max_tokens"] = MOST_SHAPED_TOKENS.into();
    }
    body
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let mut told: Vec<Value> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User(text) => ("user", vec![json!({ "type": "text", "text": text })]),
            Message::Agent { text, calls } => {
                let text = (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text.trim_end() }));
                let calls = calls.iter().map(
                    |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }),
                );
                ("assistant", text.into_iter().chain(calls).collect())
            }
            Message::Results(results) => {
                let blocks = results.iter().map(|result| {
                    json!({
                        "type": "tool_result",
                        "tool_use_id": result.id,
                        "content": result.result.to_string(),
                        "is_error": result.result.get("error").is_some(),
                    })
                });
                ("user", blocks.collect())
            }
        };
        match told.last_mut() {
            // What was said after a tool's result is of the same message.
            Some(last) if last["role"] == role => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ if blocks.is_empty() => {}
            _ => told.push(json!({ "role": role, "content": blocks })),
        }
    }
    told
}
