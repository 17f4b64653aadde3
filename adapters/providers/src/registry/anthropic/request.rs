//! Request for a message. Instructions are at the top, and tool results are blocks of the user's message.

use domain::prompt::{Message, Prompt};
use serde_json::{Value, json};

use crate::protocols::llm::api::{MOST_SHAPED_TOKENS, MOST_TOKENS};

/// Builds the body of a request for a reply, or for an answer in JSON if there is a schema.
pub(crate) fn body(model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value {
    let mut messages = messages(&prompt.messages);
    if let Some(blocks) = messages.last_mut().and_then(|last| last["content"].as_array_mut()) {
        // The call so far is cached too, since the next request begins with it.
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
        // The part that stays the same between replies is cached by the provider, with the tools before it.
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
    match generation(model) {
        // These refuse a temperature, and think before each reply unless told not to.
        Some(5..) => {
            body["output_config"] = json!({ "effort": "low" });
            if model.contains("haiku") || model.contains("sonnet") {
                body["thinking"] = json!({ "type": "disabled" });
            }
        }
        // OpenAI's temperature goes up to 2, Anthropic's up to 1.
        _ => body["temperature"] = prompt.temperature.clamp(0.0, 1.0).into(),
    }
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

/// Returns the generation of a model: 5 for `claude-haiku-5-5`.
fn generation(model: &str) -> Option<u32> {
    model.split('-').find_map(|part| part.parse().ok())
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
            // Text that follows a tool's result belongs to the same message.
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
