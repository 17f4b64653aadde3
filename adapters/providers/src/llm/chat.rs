//! OpenAI's chat completions, streamed, and what servers that speak alike do otherwise.

mod calls;
mod request;
mod stream;

use std::sync::Arc;

use domain::{ports::usage::Meter, prompt::Prompt};
use futures_util::{StreamExt, TryStreamExt, stream as streams};

pub(super) use self::calls::arguments;
#[cfg(feature = "fuzzing")]
pub(super) use self::stream::ChatStream as FuzzedStream;
use self::{request::Server, stream::ChatStream};
use crate::llm::{
    http::Wire,
    reply_stream::{Deltas, Tally, read},
};

type Body = serde_json::Map<String, serde_json::Value>;

/// A client of one provider.
pub(super) struct ChatClient {
    wire: Wire,
    server: Server,
}

impl ChatClient {
    pub(super) fn new(wire: Wire) -> Self {
        let server = Server::of(wire.endpoint().provider);
        Self { wire, server }
    }

    /// Asks for a reply.
    pub(super) fn ask(self: Arc<Self>, model: String, prompt: Arc<Prompt>, meter: Meter) -> Deltas {
        self.send(model, prompt, meter, |_, body| body)
    }

    /// Asks for an answer in JSON of this shape.
    pub(super) fn ask_shaped(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        schema: serde_json::Value,
    ) -> Deltas {
        self.send(model, prompt, meter, move |server, body| {
            request::shaped(server, body, &schema)
        })
    }

    fn send(
        self: Arc<Self>,
        model: String,
        prompt: Arc<Prompt>,
        meter: Meter,
        shape: impl FnOnce(Server, Body) -> Body + Send + 'static,
    ) -> Deltas {
        let asked = async move {
            let endpoint = self.wire.endpoint();
            let body = request::body(self.server, endpoint.provider, &model, &prompt);
            let body = shape(self.server, body);
            let url = request::url(self.server, endpoint, &model);
            let headers = request::headers(self.server, endpoint);
            let response = self.wire.post(&url, &headers, &model, body).await?;
            let provider = endpoint.provider;
            let tally = Tally::new(provider, model, meter, &prompt);
            Ok(read(response, ChatStream::new(provider), tally))
        };
        streams::once(asked).try_flatten().boxed()
    }
}
