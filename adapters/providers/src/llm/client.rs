//! A client of one provider of language models: connections kept, refusals sorted, fields that a model does not take left
//! out.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{ports::usage::Meter, prompt::Prompt};
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::{Response, StatusCode, redirect};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::llm::{
    chat::{self, ChatStream},
    messages::{self, MessageStream},
    refusal::{About, Told},
    reply_stream::{Deltas, Tally, read, root_cause},
};
use crate::settings::Endpoint;
use net::{http_client, socket::CONNECT_WITHIN};

/// A refusal's body is read as far as this.
const REFUSAL_BYTES: usize = 16 * 1024;

/// How many fields of how many models are remembered.
const MOST_LEARNED: usize = 256;

/// Fields without which a reply is still one. Models differ in which of them they take.
const OPTIONAL: [&str; 5] = [
    "temperature",
    "reasoning_effort",
    "stream_options",
    "max_completion_tokens",
    "response_format",
];

/// The client that all language models share.
pub(super) fn http() -> Result<reqwest::Client, reqwest::Error> {
    http_client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(Duration::from_secs(60))
        .tcp_nodelay(true)
        // Words must not wait for a compressor.
        .no_gzip()
        .redirect(redirect::Policy::none())
        .user_agent(concat!("ringback/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// A request for a stream.
pub(super) struct Request {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

/// A client of one provider.
pub(super) struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    /// Model and field: what was refused once is not sent again.
    refused: Mutex<BTreeSet<(String, &'static str)>>,
}

impl Client {
    pub(super) fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self {
            http,
            endpoint,
            refused: Mutex::default(),
        }
    }

    /// Asks for a reply, or for an answer in JSON of a schema.
    pub(super) fn ask(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        schema: Option<Value>,
    ) -> Deltas {
        let asked = async move {
            let provider = self.endpoint.provider;
            let is_anthropic = provider == "anthropic";
            let request = match is_anthropic {
                true => messages::request(&self.endpoint, &model, &prompt, schema.as_ref()),
                false => chat::request(&self.endpoint, &model, &prompt, schema.as_ref()),
            };
            let response = self.post(request, &model).await?;
            let tally = Tally::new(provider, model, meter, &prompt);
            Ok::<_, Failure>(match is_anthropic {
                true => read(response, MessageStream::default(), tally),
                false => read(response, ChatStream::new(provider), tally),
            })
        };
        stream::once(asked).try_flatten().boxed()
    }

    /// Posts a request. A field that the model does not take, and that can be done without, is left out and the request
    /// repeated.
    async fn post(&self, request: Request, model: &str) -> Result<Response, Failure> {
        let Request { url, headers, body } = request;
        let Value::Object(mut body) = body else {
            return Err(Failure::protocol("the request is no JSON object"));
        };
        self.leave_out(model, &mut body);
        for _ in 0..=OPTIONAL.len() {
            let response = self.send(&url, &headers, &body).await?;
            let status = response.status();
            if status == StatusCode::OK {
                return Ok(response);
            }
            let answer_headers = response.headers().clone();
            let answer = beginning(response).await;
            let wrong = matches!(status.as_u16(), 400 | 422).then(|| Told::read(&answer));
            let wrong = wrong.and_then(|told| {
                let mut given = OPTIONAL.into_iter().filter(|field| body.contains_key(*field));
                given.find_map(|field| Some(field).zip(told.about(field)))
            });
            let Some((field, about)) = wrong else {
                return Err(Failure::of_answer(status.as_u16(), &answer_headers, &answer));
            };
            tracing::info!(
                provider = self.endpoint.provider,
                model,
                field,
                "left out, as the model does not take it"
            );
            // Words that repeat ours say nothing of the model: they must not change what others are asked with.
            if about == About::Named || !body.values().any(|value| mentions(value, field)) {
                self.learn(model, field);
            }
            body.shift_remove(field);
        }
        Err(Failure::protocol("the provider refuses one field after the other"))
    }

    async fn send(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: &Map<String, Value>,
    ) -> Result<Response, Failure> {
        let mut request = self.http.post(url).header("accept", "text/event-stream").json(body);
        for (name, value) in headers {
            let mut value = reqwest::header::HeaderValue::from_str(value)
                .map_err(|_| Failure::Refused(format!("header {name} has odd bytes")))?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let broken = |error: reqwest::Error| Failure::unavailable(root_cause(&error));
        request.send().await.map_err(broken)
    }

    fn leave_out(&self, model: &str, body: &mut Map<String, Value>) {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, field) in refused.iter().filter(|(refusing, _)| refusing == model) {
            body.shift_remove(*field);
        }
    }

    fn learn(&self, model: &str, field: &'static str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_LEARNED {
            refused.insert((model.to_owned(), field));
        }
    }
}

/// Whether a text within a value has these words.
fn mentions(value: &Value, words: &str) -> bool {
    match value {
        Value::String(text) => text.contains(words),
        Value::Array(items) => items.iter().any(|item| mentions(item, words)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains(words) || mentions(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The beginning of a refusal's body; what cannot be read is left out.
async fn beginning(response: Response) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut body = response.bytes_stream();
    while let Some(Ok(bytes)) = body.next().await {
        let room = REFUSAL_BYTES - answer.len();
        answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if answer.len() == REFUSAL_BYTES {
            break;
        }
    }
    answer
}
