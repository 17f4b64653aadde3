//! Request for a chat completion in the form each server accepts. Unset fields are left out.

use domain::prompt::{Message, Prompt, Tool, ToolCall};
use serde_json::{Value, json};

use crate::{
    endpoint::Endpoint,
    protocols::llm::{
        api::{LanguageApi, MOST_SHAPED_TOKENS, MOST_TOKENS},
        chat::stream::ChatStream,
        format::Format,
        reply_stream::Protocol,
    },
};

/// Chat completions as one provider takes them.
#[derive(Clone, Copy)]
pub(crate) struct Chat {
    /// Returns the address of a request to a model.
    pub url: fn(&Endpoint, &str) -> String,
    /// Whether the model's name is one segment of that address.
    pub has_model_in_path: bool,
    /// Returns whether a model thinks first and accepts neither a temperature nor a limit of its words alone.
    pub reasons: fn(&str) -> bool,
    /// Returns the lowest reasoning effort that a model accepts by its provider's documents, if it can be set.
    pub effort: fn(&str) -> Option<&'static str>,
    /// Fields of `stream_options`.
    pub stream_options: &'static [(&'static str, bool)],
    /// Field that limits a reply's tokens.
    pub limit: Option<&'static str>,
    /// Adds to a past tool call, with its number in the message, what the provider requires.
    pub complete: fn(&mut Value, usize),
}

impl Chat {
    /// Chat completions of a server that only speaks the protocol.
    pub(crate) const PLAIN: Self = Self {
        url: |endpoint, _| endpoint.url("/chat/completions"),
        has_model_in_path: false,
        reasons: |_| false,
        effort: gpt_oss_effort,
        stream_options: &[("include_usage", true)],
        limit: Some("max_tokens"),
        complete: |_, _| {},
    };
}

/// Returns the lowest effort of gpt-oss, which cannot be told not to think.
pub(crate) fn gpt_oss_effort(model: &str) -> Option<&'static str> {
    model.contains("gpt-oss").then_some("low")
}

impl LanguageApi for Chat {
    fn url(&self, endpoint: &Endpoint, model: &str) -> String {
        (self.url)(endpoint, model)
    }

    fn body(&self, provider: &str, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value {
        let mut messages = vec![json!({ "role": "system", "content": prompt.stable })];
        for message in &prompt.messages {
            self.push(provider, message, &mut messages);
        }
        tell_last(&prompt.changing, &mut messages);
        let mut body = json!({ "model": model, "messages": messages });
        if !prompt.tools.is_empty() {
            body["tools"] = prompt.tools.iter().map(tool).collect();
        }
        body["stream"] = true.into();
        for (option, value) in self.stream_options {
            body["stream_options"][option] = (*value).into();
        }
        // Models that reason do so before each reply unless told not to.
        if let Some(effort) = (self.effort)(model) {
            body["reasoning_effort"] = effort.into();
        }
        // Their thoughts count as tokens.
        if !(self.reasons)(model) {
            body["temperature"] = figure(prompt.temperature);
            if let Some(limit) = self.limit {
                let most = schema.map_or(MOST_TOKENS, |_| MOST_SHAPED_TOKENS);
                body[limit] = most.into();
            }
        }
        if let Some(schema) = schema {
            // A server that does not support `response_format` still finds the schema in the instructions.
            let format = json!({ "name": "report", "strict": true, "schema": schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
        }
        body
    }

    fn reader(&self, provider: &'static str, format: Format, tools: &[Tool]) -> Box<dyn Protocol> {
        Box::new(ChatStream::new(provider, format, tools))
    }

    fn has_model_in_path(&self) -> bool {
        self.has_model_in_path
    }
}

impl Chat {
    fn push(&self, provider: &str, message: &Message, messages: &mut Vec<Value>) {
        match message {
            Message::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Message::Agent { text, calls } => {
                let mut said = json!({ "role": "assistant" });
                if !text.is_empty() || calls.is_empty() {
                    said["content"] = text.as_str().into();
                }
                if !calls.is_empty() {
                    let calls = calls.iter().enumerate();
                    let calls = calls.map(|(index, call)| {
                        let mut told = tool_call(provider, call);
                        (self.complete)(&mut told, index);
                        told
                    });
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
}

/// Returns the version at the beginning of a name: 2 and 5 for `2.5-flash`, 3 and 0 for `3-flash`.
pub(crate) fn version(name: &str) -> Option<(u32, u32)> {
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns a number as an integer if it is whole.
fn figure(value: f64) -> Value {
    match value.fract() == 0.0 {
        true => Value::from(value as i64),
        false => Value::from(value),
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
fn tool_call(provider: &str, call: &ToolCall) -> Value {
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
    told
}

fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
    })
}
