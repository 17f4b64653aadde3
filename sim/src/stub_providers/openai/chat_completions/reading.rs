//! Parsing of a chat's messages, as strict as OpenAI's.

use serde_json::{Value, json};

use crate::stub_providers::{
    language_model::{ModelRequest, text_of},
    openai::{chat_completions::quirk::Quirk, refusal::Refusal},
};

fn wrong<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err((message.into(), Some("messages")))
}

/// Reads a request.
pub(super) fn read(request: &Value, quirk: Quirk) -> Result<ModelRequest, Refusal> {
    let mut asked = ModelRequest::default();
    for tool in request["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        let Some(name) = function["name"].as_str().filter(|_| tool["type"] == "function") else {
            return Err(("a tool without a name".into(), Some("tools")));
        };
        asked.tools.push((name.to_owned(), function["parameters"].clone()));
    }
    let messages = request["messages"].as_array().filter(|messages| !messages.is_empty());
    let Some(messages) = messages else {
        return wrong("[] is too short - 'messages'");
    };
    for (index, message) in messages.iter().enumerate() {
        take(&mut asked, message, index, quirk)?;
    }
    if asked.waits_for_results() {
        return wrong("an assistant message with 'tool_calls' must be followed by tool messages");
    }
    Ok(asked)
}

fn take(asked: &mut ModelRequest, message: &Value, index: usize, quirk: Quirk) -> Result<(), Refusal> {
    let text = text_of(&message["content"]);
    let role = message["role"].as_str().unwrap_or_default();
    if role != "tool" && asked.waits_for_results() {
        return wrong("an assistant message with 'tool_calls' must be followed by tool messages");
    }
    match role {
        "system" | "developer" => asked.system.push_str(&text),
        "user" => asked.user(&text),
        "assistant" => {
            asked.agent(&text);
            for (at, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
                take_call(asked, call, at, quirk)?;
            }
        }
        "tool" => {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !asked.result(id, &text) {
                return wrong("messages with role 'tool' must answer a preceding message with 'tool_calls'");
            }
        }
        role => return wrong(format!("Invalid value: '{role}' - messages[{index}].role")),
    }
    Ok(())
}

fn take_call(asked: &mut ModelRequest, call: &Value, at: usize, quirk: Quirk) -> Result<(), Refusal> {
    let function = &call["function"];
    let (id, name) = (call["id"].as_str(), function["name"].as_str());
    let arguments = function["arguments"].as_str();
    let (Some(id), Some(name), Some(arguments)) = (id, name, arguments) else {
        return wrong("a tool call without id, name or arguments");
    };
    let signed = call.pointer("/extra_content/google/thought_signature").is_some();
    match quirk {
        Quirk::Gemini if at == 0 && !signed => {
            return wrong("Function call is missing a thought_signature in functionCall parts.");
        }
        Quirk::Gemini => {}
        _ if call.get("extra_content").is_some() => return wrong("Unrecognized field: extra_content"),
        _ => {}
    }
    asked.call(id, name, serde_json::from_str(arguments).unwrap_or_else(|_| json!({})));
    Ok(())
}
