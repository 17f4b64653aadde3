//! `/v1/chat/completions` of OpenAI, and the deviations of other servers, selected by the model's name.

mod effort;
mod quirk;
mod reading;

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use self::quirk::Quirk;
use crate::stub_providers::{
    event_stream::{self, Answer, Script, data},
    language_model::{ModelReply, count, tokens},
    log::Service,
    openai::refusal::{Refusal, refused},
    report,
    stub::{Stub, bearer, given},
};

/// The largest request.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// `/v1/chat/completions`.
pub const CHAT_COMPLETIONS: Service = Service("/v1/chat/completions");

pub(crate) fn routes() -> Router<Arc<Stub>> {
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
    let is_taken = stub.takes(bearer(&headers));
    answer(stub, is_taken, None, &body).await
}

async fn complete_azure(
    State(stub): State<Arc<Stub>>,
    Path(deployment): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let is_taken = stub.takes(given(&headers, "api-key"));
    answer(stub, is_taken, Some(&deployment), &body).await
}

/// Creation time of every completion.
const CREATED: u64 = 1_700_000_000;

async fn answer(stub: Arc<Stub>, is_taken: bool, deployment: Option<&str>, body: &Bytes) -> Response {
    let read = || match read(&stub, deployment, body) {
        Ok(completion) if completion.streamed => Answer::Streamed(completion.script()),
        Ok(completion) => Answer::Whole(Json(completion.whole()).into_response()),
        Err((why, field)) => Answer::Whole(refused(400, "invalid_request_error", &why, None, field)),
    };
    let read = is_taken.then_some(read);
    event_stream::answer(stub.clone(), CHAT_COMPLETIONS, body, refusal, read).await
}

fn read(stub: &Stub, deployment: Option<&str>, body: &[u8]) -> Result<Completion, Refusal> {
    let request: Value = serde_json::from_slice(body).map_err(|error| (error.to_string(), None))?;
    let model = deployment.or(request["model"].as_str());
    let model = model.ok_or_else(|| ("you must provide a model parameter".to_owned(), Some("model")))?;
    stub.takes_model("llm", model)
        .map_err(|error| (error.to_string(), Some("model")))?;
    let quirk = if deployment.is_some() {
        Quirk::Azure
    } else {
        Quirk::of(model)
    };
    quirk.refuses(&request)?;
    effort::check(model, &request)?;
    let asked = reading::read(&request, quirk)?;
    Ok(Completion {
        read_tokens: count(&request["messages"]),
        streamed: request["stream"] == true,
        usage: request["stream_options"]["include_usage"] == true,
        reply: match report::wanted(&request) {
            Some(report) => ModelReply::words(report.to_string()),
            None => asked.think(),
        },
        model: model.to_owned(),
        quirk,
    })
}

/// A completion.
struct Completion {
    model: String,
    quirk: Quirk,
    reply: ModelReply,
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
        let written = tokens(&self.reply.words).len() + 8 * self.reply.calls.len();
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
            // A client must accept a comment.
            first.push(format!(": keep-alive\n\n{role}"));
        }
        let words = quirk.words(&tokens(&self.reply.words));
        let mut tokens: Vec<String> = words.iter().map(|delta| self.delta(delta, None)).collect();
        tokens.extend(
            quirk
                .calls(&self.reply.calls)
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
        let reason = self.quirk.finish_reason(!self.reply.calls.is_empty());
        let choice = json!({ "index": 0, "delta": {}, "logprobs": null, "finish_reason": reason });
        let mut chunk = self.chunk(&json!([choice]));
        if self.quirk == Quirk::Groq {
            chunk["x_groq"] = json!({ "id": "req_1", "usage": self.usage() });
        }
        data(&chunk)
    }

    /// Returns the response without streaming.
    fn whole(&self) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.reply.words, "refusal": null });
        let calls = self.reply.calls.iter().enumerate().map(|(index, (name, arguments))| {
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

/// Returns an error in OpenAI's words.
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
    refused(status, kind, message, code, None)
}
