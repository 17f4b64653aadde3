//! A language model that answers by script and records its requests.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream, stream::BoxStream};
use serde_json::Value;

use domain::ports::language_model::{LanguageError, LanguageModel, ReplyEvent, ReplyRequest};

/// One scripted reply.
#[derive(Debug, Clone, Default)]
pub struct ScriptedReply {
    /// Delay before each event.
    pub gap: Duration,
    /// The events that are streamed.
    pub events: Vec<Result<ReplyEvent, LanguageError>>,
}

impl ScriptedReply {
    /// Creates a reply that says `text` at once.
    pub fn text(text: &str) -> Self {
        Self {
            gap: Duration::ZERO,
            events: vec![Ok(ReplyEvent::Text(text.to_owned()))],
        }
    }

    /// Creates a reply that fails.
    pub fn error(error: LanguageError) -> Self {
        Self {
            gap: Duration::ZERO,
            events: vec![Err(error)],
        }
    }

    /// Adds words.
    #[must_use]
    pub fn then_text(mut self, text: &str) -> Self {
        self.events.push(Ok(ReplyEvent::Text(text.to_owned())));
        self
    }

    /// Adds a tool call.
    #[must_use]
    pub fn then_tool(mut self, name: &str, arguments: Value) -> Self {
        self.events.push(Ok(ReplyEvent::Tool {
            name: name.to_owned(),
            arguments,
            echo: None,
        }));
        self
    }

    /// Sets the delay before each event.
    #[must_use]
    pub fn with_gap(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }
}

#[derive(Default)]
struct Seen {
    script: VecDeque<ScriptedReply>,
    requests: Vec<ReplyRequest>,
}

/// The fake. A reply that is not in the script says `Okay.`.
#[derive(Default)]
pub struct ScriptedModel(Mutex<Seen>);

impl ScriptedModel {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scripts the next unscripted reply.
    pub fn script(&self, reply: ScriptedReply) {
        self.seen().script.push_back(reply);
    }

    /// Returns all requests.
    pub fn requests(&self) -> Vec<ReplyRequest> {
        self.seen().requests.clone()
    }
}

impl LanguageModel for ScriptedModel {
    fn reply(&self, request: ReplyRequest) -> BoxStream<'static, Result<ReplyEvent, LanguageError>> {
        let reply = {
            let mut seen = self.seen();
            seen.requests.push(request);
            seen.script.pop_front().unwrap_or_else(|| ScriptedReply::text("Okay."))
        };
        let gap = reply.gap;
        stream::iter(reply.events)
            .then(move |event| async move {
                tokio::time::sleep(gap).await;
                event
            })
            .boxed()
    }
}
