//! Anthropic's `/v1/messages`.

mod reading;

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};

use self::reading::InvalidRequest;
use crate::stub_providers::{
    event_stream::{self, Answer, Script},
    language_model::{ModelReply, count, halves, tokens},
    log::Service,
    report,
    stub::{Stub, bearer, given, refused},
};

/// The largest request.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// `/v1/messages`.
pub const MESSAGES: Service = Service("/v1/messages");

pub(crate) fn routes() -> Router<Arc<Stub>> {
    let router = Router::new().route("/v1/messages", post(answer));
    router.layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
}

async fn answer(State(stub): State<Arc<Stub>>, headers: HeaderMap, body: Bytes) -> Response {
    // Newer clients send the key as a bearer token.
    let is_taken = stub.takes(given(&headers, "x-api-key").or(bearer(&headers)));
    let read = || match read(&stub, given(&headers, "anthropic-version"), &body) {
        Ok(message) if message.streamed => Answer::Streamed(message.script()),
        Ok(message) => Answer::Whole(Json(message.whole()).into_response()),
        Err(why) => Answer::Whole(refused_with(400, "invalid_request_error", &why.to_string())),
    };
    event_stream::answer(stub.clone(), MESSAGES, &body, refusal, is_taken.then_some(read)).await
}

fn read(stub: &Stub, version: Option<&str>, body: &[u8]) -> Result<Message, InvalidRequest> {
    let dated = |version: &str| version.len() == 10 && version.starts_with("20");
    if !version.is_some_and(dated) {
        return Err("anthropic-version: header is required".into());
    }
    let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    stub.takes_model("llm", request["model"].as_str().unwrap_or_default())
        .map_err(|error| error.to_string())?;
    let asked = reading::read(&request)?;
    Ok(Message {
        model: request["model"].as_str().unwrap_or_default().to_owned(),
        read_tokens: count(&request["messages"]) + count(&request["system"]),
        streamed: request["stream"] == true,
        reply: match report::wanted(&request) {
            Some(report) => ModelReply::call("report", report),
            None => asked.think(),
        },
    })
}

struct Message {
    model: String,
    reply: ModelReply,
    streamed: bool,
    read_tokens: usize,
}

fn event(value: &Value) -> String {
    format!(
        "event: {}\ndata: {value}\n\n",
        value["type"].as_str().unwrap_or_default()
    )
}

fn begin(index: usize, block: &Value) -> String {
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn piece(index: usize, delta: &Value) -> String {
    event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

impl Message {
    fn written(&self) -> usize {
        tokens(&self.reply.words).len() + 8 * self.reply.calls.len()
    }

    fn stop_reason(&self) -> &'static str {
        if self.reply.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        }
    }

    /// Returns the message without its content.
    fn frame(&self) -> Value {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": self.read_tokens, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 16, "output_tokens": 1,
            },
        })
    }

    fn script(&self) -> Script {
        let mut first = vec![
            event(&json!({ "type": "message_start", "message": self.frame() })),
            event(&json!({ "type": "ping" })),
        ];
        let mut events = Vec::new();
        let mut index = 0;
        if !self.reply.words.is_empty() {
            first.push(begin(0, &json!({ "type": "text", "text": "" })));
            let words = tokens(&self.reply.words).into_iter();
            events.extend(words.map(|token| piece(0, &json!({ "type": "text_delta", "text": token }))));
            events.push(event(&json!({ "type": "content_block_stop", "index": 0 })));
            index += 1;
        }
        for (name, arguments) in &self.reply.calls {
            let block = json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {} });
            events.push(begin(index, &block));
            let (start, end) = halves(&arguments.to_string());
            for part in [String::new(), start, end] {
                events.push(piece(
                    index,
                    &json!({ "type": "input_json_delta", "partial_json": part }),
                ));
            }
            events.push(event(&json!({ "type": "content_block_stop", "index": index })));
            index += 1;
        }
        let overloaded = json!({ "type": "overloaded_error", "message": "Overloaded" });
        Script {
            first,
            tokens: events,
            last: self.last(),
            error: event(&json!({ "type": "error", "error": overloaded })),
        }
    }

    fn last(&self) -> Vec<String> {
        let delta = json!({ "stop_reason": self.stop_reason(), "stop_sequence": null });
        let usage = json!({ "output_tokens": self.written() });
        vec![
            event(&json!({ "type": "message_delta", "delta": delta, "usage": usage })),
            event(&json!({ "type": "message_stop" })),
        ]
    }

    /// Returns the response without streaming.
    fn whole(&self) -> Value {
        let mut content = Vec::new();
        if !self.reply.words.is_empty() {
            content.push(json!({ "type": "text", "text": self.reply.words }));
        }
        content.extend(self.reply.calls.iter().enumerate().map(|(index, (name, input))| {
            json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": input })
        }));
        let mut message = self.frame();
        message["content"] = content.into();
        message["stop_reason"] = self.stop_reason().into();
        message["usage"]["output_tokens"] = self.written().into();
        message
    }
}

/// Returns an error in Anthropic's words.
fn refusal(status: u16) -> Response {
    let (kind, message) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        402 => ("billing_error", "Your credit balance is too low."),
        403 => ("permission_error", "Your key has no permission for this resource."),
        404 => ("not_found_error", "The model was not found."),
        429 => ("rate_limit_error", "This request would exceed your rate limit."),
        529 => ("overloaded_error", "Overloaded"),
        400..=499 => ("invalid_request_error", "The request was refused."),
        _ => ("api_error", "Internal server error"),
    };
    refused_with(status, kind, message)
}

fn refused_with(status: u16, kind: &str, message: &str) -> Response {
    let error = json!({ "type": kind, "message": message });
    refused(
        status,
        json!({ "type": "error", "error": error, "request_id": "req_1" }),
    )
}
