//! Parsing of a message request, as strict as Anthropic's.

use std::borrow::Cow;

use serde_json::Value;

use crate::stub_providers::language_model::{ModelRequest, object_of, text_of};

/// A request that Anthropic refuses, in its words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct InvalidRequest(Cow<'static, str>);

impl<T: Into<Cow<'static, str>>> From<T> for InvalidRequest {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

/// Reads a request.
pub(super) fn read(request: &Value) -> Result<ModelRequest, InvalidRequest> {
    for field in ["model", "max_tokens", "messages"] {
        if request.get(field).is_none() {
            return Err(format!("{field}: Field required").into());
        }
    }
    if request["temperature"].as_f64().is_some_and(|figure| figure > 1.0) {
        return Err("temperature: range: 0..1".into());
    }
    if request["model"].as_str().is_some_and(|model| model.ends_with("-5-5")) {
        check_fifth(request)?;
    }
    let mut asked = ModelRequest::default();
    asked.system = text_of(&request["system"]);
    for tool in request["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().ok_or("tools.0.name: Field required")?;
        if !tool["input_schema"].is_object() {
            return Err("tools.0.input_schema: Field required".into());
        }
        asked.tools.push((name.to_owned(), tool["input_schema"].clone()));
    }
    let messages = request["messages"].as_array().filter(|messages| !messages.is_empty());
    let messages = messages.ok_or("messages: at least one message is required")?;
    if messages[0]["role"] != "user" {
        return Err("messages: first message must use the \"user\" role".into());
    }
    for message in messages {
        take(&mut asked, message)?;
    }
    if asked.waits_for_results() {
        return Err("`tool_use` ids were found without `tool_result` blocks immediately after".into());
    }
    if messages.last().is_some_and(|message| message["role"] == "assistant") {
        return Err("this model does not support assistant message prefill".into());
    }
    Ok(asked)
}

/// Refuses what the models of 2026 refuse (platform.claude.com/docs/en/models/haiku-5-5/migration-guide).
fn check_fifth(request: &Value) -> Result<(), InvalidRequest> {
    for field in ["temperature", "top_p", "top_k"] {
        if request.get(field).is_some() {
            return Err(format!("{field}: is not supported by this model").into());
        }
    }
    let effort = request["output_config"]["effort"].as_str().unwrap_or("medium");
    let thinking = request["thinking"]["type"].as_str().unwrap_or("adaptive");
    match (thinking, effort) {
        ("disabled", "low" | "medium" | "high") => Ok(()),
        ("adaptive", "low" | "medium" | "high" | "xhigh" | "max") if request["tool_choice"]["type"] != "tool" => Ok(()),
        _ => Err(format!("thinking: {thinking} with effort {effort} is not supported").into()),
    }
}

fn take(asked: &mut ModelRequest, message: &Value) -> Result<(), InvalidRequest> {
    let content = &message["content"];
    let own = message["role"] == "assistant";
    let blocks = match content {
        Value::String(text) => {
            if asked.waits_for_results() {
                return Err("`tool_use` ids were found without `tool_result` blocks immediately after".into());
            }
            if own {
                asked.agent(text);
            } else {
                asked.user(text);
            }
            return Ok(());
        }
        blocks => blocks.as_array().filter(|blocks| !blocks.is_empty()),
    };
    for block in blocks.ok_or("messages: content must not be empty")? {
        let text = block["text"].as_str().unwrap_or_default();
        match block["type"].as_str().unwrap_or_default() {
            "text" if text.trim().is_empty() => return Err("text content blocks must be non-empty".into()),
            "text" if own => asked.agent(text),
            "text" if asked.waits_for_results() => {
                return Err("`tool_use` ids were found without `tool_result` blocks immediately after".into());
            }
            "text" => asked.user(text),
            "tool_use" if own && block["input"].is_object() => {
                let (id, name) = (block["id"].as_str(), block["name"].as_str());
                let (id, name) = id.zip(name).ok_or("tool_use: id and name are required")?;
                asked.call(id, name, object_of(&block["input"]).into());
            }
            "tool_result" if !own => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if !asked.result(id, &text_of(&block["content"])) {
                    return Err(format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}").into());
                }
            }
            kind => return Err(format!("messages: content of type `{kind}` does not belong there").into()),
        }
    }
    Ok(())
}
