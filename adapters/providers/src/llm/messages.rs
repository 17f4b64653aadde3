//! Anthropic's messages, streamed.

mod request;
mod stream;

use std::sync::Arc;

use domain::{ports::usage::Meter, prompt::Prompt};
use futures_util::{StreamExt, TryStreamExt, stream as streams};

#[cfg(feature = "fuzzing")]
pub(super) use self::stream::MessageStream as FuzzedStream;
use self::stream::MessageStream;
use crate::llm::{
    http::Wire,
    reply_stream::{Deltas, Tally, read},
};
use net::key::Key;

/// The version of the interface.
const VERSION: &str = "2023-06-01";

type Body = serde_json::Map<String, serde_json::Value>;

/// A client of one provider.
pub(super) struct MessagesClient {
    wire: Wire,
}

impl MessagesClient {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire }
    }

    /// Asks for a reply.
    pub(super) fn ask(self: Arc<Self>, model: String, prompt: Arc<Prompt>, meter: Meter) -> Deltas {
        self.send(model, prompt, meter, |body| body)
    }

    /// Asks for an answer in JSON of this shape, which comes as the arguments of a tool.
    pub(super) fn ask_shaped(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        schema: serde_json::Value,
    ) -> Deltas {
        self.send(model, prompt, meter, move |body| request::shaped(body, &schema))
    }

    fn send(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        shape: impl FnOnce(Body) -> Body + Send + 'static,
    ) -> Deltas {
        let asked = async move {
            let endpoint = self.wire.endpoint();
            let mut headers = vec![("anthropic-version", VERSION.to_owned())];
            headers.extend(
                endpoint
                    .key
                    .as_ref()
                    .map(|key: &Key| ("x-api-key", key.secret().to_owned())),
            );
            let body = shape(request::body(&model, &prompt));
            let url = endpoint.url("/v1/messages");
            let response = self.wire.post(&url, &headers, &model, body).await?;
            let tally = Tally::new(endpoint.provider, model, meter, &prompt);
            Ok(read(response, MessageStream::default(), tally))
        };
        streams::once(asked).try_flatten().boxed()
    }
}
