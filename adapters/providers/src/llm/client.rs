//! Client of one language model provider. It keeps connections, classifies refusals, and sends each model the
//! fields that it accepts.

use std::{sync::Arc, time::Duration};

use domain::{ports::usage::Meter, prompt::Prompt};
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::{Response, StatusCode, redirect};
use serde_json::{Map, Value};

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    llm::accepted_fields::{AcceptedFields, Correction, EFFORT, MOST_CORRECTIONS},
    protocols::llm::{
        api::LanguageApi,
        format::Format,
        refusal::Told,
        reply_stream::{Deltas, Tally, read, root_cause},
    },
};
use net::{http_client, socket::CONNECT_WITHIN};

/// Maximum number of bytes read of a refusal's body.
const REFUSAL_BYTES: usize = 16 * 1024;

/// Builds the client that all language models share.
pub(super) fn http() -> Result<reqwest::Client, reqwest::Error> {
    http_client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(Duration::from_secs(60))
        .tcp_nodelay(true)
        // Compression would delay words.
        .no_gzip()
        .redirect(redirect::Policy::none())
        .user_agent(concat!("ringback/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Client of one provider.
pub(super) struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    api: &'static dyn LanguageApi,
    /// Format of the models' text, if it is not that of their names.
    format: Format,
    accepted: AcceptedFields,
}

impl Client {
    pub(super) fn new(
        http: reqwest::Client,
        endpoint: Endpoint,
        api: &'static dyn LanguageApi,
        format: Format,
    ) -> Self {
        Self {
            http,
            endpoint,
            api,
            format,
            accepted: AcceptedFields::default(),
        }
    }

    /// Requests a reply, or an answer in JSON if there is a schema.
    pub(super) fn ask(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        schema: Option<Value>,
    ) -> Deltas {
        let asked = async move {
            let provider = self.endpoint.provider;
            let body = self.api.body(provider, &model, &prompt, schema.as_ref());
            let format = match self.format.of(&model) {
                // A model that was asked not to think needs no waiting for its thoughts.
                Format::Thinking if body.get(EFFORT).is_some_and(|effort| effort == "none") => Format::Marked,
                format => format,
            };
            let response = self.post(body, &model).await?;
            let reader = self.api.reader(provider, format, &prompt.tools);
            let tally = Tally::new(provider, model, meter, &prompt);
            Ok::<_, Failure>(read(response, reader, tally))
        };
        stream::once(asked).try_flatten().boxed()
    }

    /// Posts a request. If the model refuses it for an optional field, the request is repeated without that field
    /// or with the value that the refusal asks for.
    async fn post(&self, body: Value, model: &str) -> Result<Response, Failure> {
        let url = self.api.url(&self.endpoint, model);
        let Value::Object(mut body) = body else {
            return Err(Failure::protocol("the request is not a JSON object"));
        };
        self.accepted.apply(model, &mut body);
        let mut efforts = Vec::new();
        for _ in 0..=MOST_CORRECTIONS {
            let response = self.send(&url, &body).await?;
            let status = response.status();
            if status == StatusCode::OK {
                return Ok(response);
            }
            let answer_headers = response.headers().clone();
            let answer = beginning(response).await;
            let wrong = matches!(status.as_u16(), 400 | 422).then(|| Told::read(&answer));
            efforts.extend(body.get(EFFORT).and_then(Value::as_str).map(str::to_owned));
            let correction = wrong.and_then(|told| Correction::of(&told, &body, &efforts));
            let Some(correction) = correction else {
                return Err(Failure::of_answer(status.as_u16(), &answer_headers, &answer));
            };
            let (provider, field, value) = (self.endpoint.provider, correction.field, correction.value);
            tracing::info!(
                provider,
                model,
                field,
                value,
                "request field not accepted by the model, changing it"
            );
            correction.apply(&mut body);
            if correction.is_certain {
                self.accepted.learn(model, &correction);
            }
        }
        Err(Failure::protocol("the provider refuses too many fields"))
    }

    async fn send(&self, url: &str, body: &Map<String, Value>) -> Result<Response, Failure> {
        let mut request = self.http.post(url).header("accept", "text/event-stream").json(body);
        for (name, value) in self.endpoint.headers() {
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|_| Failure::Refused(format!("header {name} contains invalid characters")))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let broken = |error: reqwest::Error| Failure::unavailable(root_cause(&error));
        request.send().await.map_err(broken)
    }
}

/// Reads the beginning of a refusal's body, as far as it can be read.
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
