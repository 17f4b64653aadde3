//! `/v1/chat/completions`: OpenAI's, and by the model's name what other servers do otherwise.

mod quirk;
mod reading;

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use self::quirk::Quirk;
use super::{
    Fault, Service, Stub,
    event_stream::{Script, Watch, data, hang, respond},
    mind::{Thought, count, tokens},
    report,
};

/// The largest request.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route(
            "/openai/deployments/{deployment}/chat/completions",
            post(complete_azure),
        )
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
}

async fn models(State(stub): State<Arc<Stub>>, headers: HeaderMap) -> Response {
    if !stub.takes(bearer(&headers)) {
        return refusal(401);
    }
    let model = json!({ "id": "interviewer", "object": "model", "created": CREATED, "owned_by": "ringback" });
    Json(json!({ "object": "list", "data": [model] })).into_response()
}

async fn complete(State(stub): State<Arc<Stub>>, headers: HeaderMap, body: Bytes) -> Response {
    let taken = stub.takes(bearer(&headers));
    answer(stub, taken, None, body).await
}

async fn complete_azure(
    State(stub): State<Arc<Stub>>,
    Path(deployment): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let taken = stub.takes(headers.get("api-key").and_then(|key| key.to_str().ok()));
    answer(stub, taken, Some(deployment), body).await
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")
}

/// When every completion was made.
const CREATED: u64 = 1_700_000_000;

async fn answer(stub: Arc<Stub>, taken: bool, deployment: Option<String>, body: Bytes) -> Response {
    let service = Service::ChatCompletions;
    let asked = String::from_utf8_lossy(&body);
    let fault = stub.fault_of(service, &asked);
    stub.received(service, asked);
    if !taken {
        return refusal(401);
    }
    let watch = Watch::new(stub.clone(), service);
    match &fault {
        Fault::Refuse(status) => {
            let mut watch = watch;
            watch.over();
            refusal(*status)
        }
        Fault::Hang => hang(watch).await,
        _ => match read(deployment.as_deref(), &body) {
            Ok(completion) if completion.streamed => respond(watch, completion.script(), &fault),
            read => {
                let mut watch = watch;
                watch.over();
                match read {
                    Ok(completion) => Json(completion.whole()).into_response(),
                    Err((message, field)) => wrong(&message, field),
                }
            }
        },
    }
}

fn read(deployment: Option<&str>, body: &[u8]) -> Result<Completion, (String, Option<&'static str>)> {
    let request: Value = serde_json::from_slice(body).map_err(|error| (error.to_string(), None))?;
    let model = request["model"].as_str().or(deployment);
    let model = model.ok_or_else(|| ("you must provide a model parameter".to_owned(), Some("model")))?;
    let quirk = if deployment.is_some() {
        Quirk::Azure
    } else {
        Quirk::of(model)
    };
    quirk.refuses(&request)?;
    let asked = reading::read(&request, quirk)?;
    Ok(Completion {
        read_tokens: count(&request["messages"]),
        streamed: request["stream"] == true,
        usage: request["stream_options"]["include_usage"] == true,
        thought: match report::wanted(&request) {
            Some(report) => Thought::words(report.to_string()),
            None => asked.think(),
        },
        model: model.to_owned(),
        quirk,
    })
}

/// What is answered.
struct Completion {
    model: String,
    quirk: Quirk,
    thought: Thought,
    streamed: bool,
    usage: bool,
    read_tokens: usize,
}

impl Completion {
    fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.model,
            "system_fingerprint": if self.quirk == Quirk::Ollama { "fp_ollama" } else { "fp_stub" },
            "choices": choices,
        })
    }

    fn delta(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason });
        data(&self.chunk(&json!([choice])))
    }

    fn usage(&self) -> Value {
        let written = tokens(&self.thought.words).len() + 8 * self.thought.calls.len();
        json!({
            "prompt_tokens": self.read_tokens,
            "completion_tokens": written,
            "total_tokens": self.read_tokens + written,
            "prompt_tokens_details": { "cached_tokens": self.read_tokens / 2 },
            "completion_tokens_details": { "reasoning_tokens": 0 },
        })
    }

    fn script(&self) -> Script {
        let quirk = self.quirk;
        let mut first = quirk.before(|choices| data(&self.chunk(choices)));
        if quirk != Quirk::Gemini {
            let role = self.delta(&json!({ "role": "assistant", "content": "" }), None);
            // A client must not stumble over a comment.
            first.push(format!(": keep-alive\n\n{role}"));
        }
        let words = quirk.words(&tokens(&self.thought.words));
        let mut tokens: Vec<String> = words.iter().map(|delta| self.delta(delta, None)).collect();
        tokens.extend(
            quirk
                .calls(&self.thought.calls)
                .iter()
                .map(|delta| self.delta(delta, None)),
        );
        let mut last = quirk.after(|choices| data(&self.chunk(choices)));
        last.push(self.finish());
        if self.usage && quirk != Quirk::Groq {
            let mut chunk = self.chunk(&json!([]));
            chunk["usage"] = self.usage();
            last.push(data(&chunk));
        }
        last.push("data: [DONE]\n\n".into());
        let error = json!({ "error": {
            "message": "The server had an error while processing your request.",
            "type": "server_error", "param": null, "code": null,
        } });
        Script {
            first,
            tokens,
            last,
            error: data(&error),
        }
    }

    fn finish(&self) -> String {
        let reason = self.quirk.finish_reason(!self.thought.calls.is_empty());
        let choice = json!({ "index": 0, "delta": {}, "logprobs": null, "finish_reason": reason });
        let mut chunk = self.chunk(&json!([choice]));
        if self.quirk == Quirk::Groq {
            chunk["x_groq"] = json!({ "id": "req_1", "usage": self.usage() });
        }
        data(&chunk)
    }

    /// Not streamed.
    fn whole(&self) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.thought.words, "refusal": null });
        let calls = self.thought.calls.iter().enumerate().map(|(index, (name, arguments))| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!({ "id": format!("call_{index}"), "type": "function", "function": function })
        });
        let calls: Vec<Value> = calls.collect();
        let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
            "usage": self.usage(),
        })
    }
}

/// A refusal in OpenAI's words.
fn refusal(status: u16) -> Response {
    let (kind, code, message) = match status {
        401 => (
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided.",
        ),
        402 | 403 => (
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota.",
        ),
        429 => ("tokens", Some("rate_limit_exceeded"), "Rate limit reached."),
        400..=499 => ("invalid_request_error", None, "The request was refused."),
        _ => (
            "server_error",
            None,
            "The server had an error while processing your request.",
        ),
    };
    let body = json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert("retry-after", 1.into());
    }
    response
}

fn wrong(message: &str, field: Option<&str>) -> Response {
    let error = json!({ "message": message, "type": "invalid_request_error", "param": field, "code": null });
    (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response()
}
