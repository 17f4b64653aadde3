//! A reply as it comes from a provider: bytes to events, events to what is said and done, and what was used counted.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use domain::{
    ports::{
        language_model::ReplyEvent,
        usage::{Meter, Unit},
    },
    prompt::{Message, Prompt},
};
use futures_util::{StreamExt, stream, stream::BoxStream};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::sse::{self, Event};
use crate::failure::Failure;

/// A reply's stream is read as far as this: ten times what a long reply with its thoughts takes.
const BODY_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of one reply's words: twice what a call speaks of one.
const MOST_TEXT: usize = 16_000;

/// Tool calls of one reply.
pub(super) const MOST_CALLS: usize = 32;

/// Bytes of a tool's name: the longest that any provider takes, and it would be sent back to one.
const MOST_NAME_BYTES: usize = 64;

/// Bytes of all that one reply's tool calls hold together: a form of a hundred fields has some thousands.
pub(super) const MOST_CALL_BYTES: usize = 64 * 1024;

/// Once the model has finished, what else comes (the usage) is waited for no longer than this.
const AFTER_FINISH: Duration = Duration::from_millis(500);

/// No request has so many tokens; a figure beyond is none.
const MOST_TOKENS: u64 = 20_000_000;

/// Characters of a token, for what a provider did not count; OpenAI's rule of thumb for English.
const TOKEN_CHARACTERS: usize = 4;

/// A step of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Delta {
    /// The model thinks: it lives, and says nothing yet.
    Thinking,
    /// A tool call is being written.
    Working,
    /// Words, or a whole tool call.
    Event(ReplyEvent),
}

/// A reply on its way. Dropping it cancels it at the provider.
pub(super) type Deltas = BoxStream<'static, Result<Delta, Failure>>;

/// What a provider says it charges for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Tokens read, those from the cache included.
    pub input: u64,
    /// Of these, from the cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

/// A count of tokens that can be one.
pub(super) fn figure(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|tokens| *tokens <= MOST_TOKENS)
}

/// One provider's way to stream a reply.
pub(super) trait Protocol: Send + 'static {
    /// Takes an event.
    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure>;

    /// The reply is whole: what was held back is given out.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure>;

    /// How far it is.
    fn progress(&self) -> &Progress;

    /// The bytes have come to their end: a failure if the reply has not.
    fn closed(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        match self.is_finished() {
            true => self.end(out),
            false => Err(Failure::unavailable("the stream ended before the reply did")),
        }
    }

    /// Whether the model has said everything, though more may come.
    fn is_finished(&self) -> bool {
        self.progress().finish_reason.is_some()
    }

    /// Whether nothing more comes.
    fn is_over(&self) -> bool {
        self.progress().over
    }
}

/// How far a reply is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Bytes of words so far.
    pub said: usize,
    /// Why the model has finished, once it has.
    pub finish_reason: Option<String>,
    /// Nothing more comes.
    pub over: bool,
    /// What the provider has counted so far.
    pub usage: Option<Usage>,
}

impl Progress {
    /// Gives words out, if there are any.
    pub(super) fn say(&mut self, words: String, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if words.is_empty() {
            return Ok(());
        }
        self.said += words.len();
        if self.said > MOST_TEXT {
            return Err(Failure::protocol("the reply is longer than anybody listens to"));
        }
        out.push(Delta::Event(ReplyEvent::Text(words)));
        Ok(())
    }
}

/// Counts what a request used when it is dropped, however it ended.
pub(super) struct Tally {
    pub provider: &'static str,
    pub model: String,
    pub meter: Meter,
    /// Characters of the request.
    pub asked: usize,
    /// Characters that came.
    pub answered: usize,
    pub counted: Option<Usage>,
    /// The reply is whole, and so is what was counted.
    pub finished: bool,
}

impl Tally {
    pub(super) fn new(provider: &'static str, model: String, meter: Meter, prompt: &Prompt) -> Self {
        Self {
            provider,
            model,
            meter,
            asked: size(prompt),
            answered: 0,
            counted: None,
            finished: false,
        }
    }
}

/// About how many characters a model is to read.
fn size(prompt: &Prompt) -> usize {
    let messages = prompt.messages.iter().map(|message| match message {
        Message::User(text) => text.len(),
        Message::Agent { text, calls } => text.len() + calls.iter().map(|call| call.name.len() + 20).sum::<usize>(),
        Message::Results(results) => 20 * results.len(),
    });
    let tools = prompt.tools.iter();
    let tools = tools.map(|tool| tool.description.len() + tool.parameters.to_string().len());
    prompt.stable.len() + prompt.changing.len() + messages.sum::<usize>() + tools.sum::<usize>()
}

impl Drop for Tally {
    fn drop(&mut self) {
        let estimate = |characters: usize| characters.div_ceil(TOKEN_CHARACTERS) as u64;
        let counted = self.counted.unwrap_or_default();
        // Usage may come in parts, and a cancelled stream has none of its output's.
        let input = match counted.input {
            0 => estimate(self.asked),
            counted => counted,
        };
        let output = match self.finished {
            true if counted.output > 0 => counted.output,
            _ => counted.output.max(estimate(self.answered)),
        };
        let add = |unit, tokens| self.meter.add(self.provider, &self.model, unit, tokens);
        add(Unit::InputTokens, input);
        add(Unit::CachedTokens, counted.cached);
        add(Unit::OutputTokens, output);
    }
}

/// Leave for one more tool call, where there are so many.
pub(super) fn one_more(calls: usize) -> Result<(), Failure> {
    match calls < MOST_CALLS {
        true => Ok(()),
        false => Err(Failure::protocol("too many tool calls in one reply")),
    }
}

/// Leave for a tool's name.
pub(super) fn named(name: &str) -> Result<(), Failure> {
    match name.len() <= MOST_NAME_BYTES {
        true => Ok(()),
        false => Err(Failure::protocol("a tool's name is longer than there is any")),
    }
}

/// Leave for so many bytes in all the calls of a reply.
pub(super) fn in_all(bytes: usize) -> Result<(), Failure> {
    match bytes <= MOST_CALL_BYTES {
        true => Ok(()),
        false => Err(Failure::protocol("the tool calls of one reply never come to their end")),
    }
}

/// A body being read.
struct Reading<P> {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    bytes: usize,
    events: sse::Reader,
    protocol: P,
    ready: VecDeque<Result<Delta, Failure>>,
    ended: bool,
    /// How long more is waited for, once the model has finished.
    until: Option<Instant>,
    tally: Tally,
}

/// The deltas of a body. Ends after the first failure.
pub(super) fn read<P: Protocol>(response: reqwest::Response, protocol: P, tally: Tally) -> Deltas {
    let reading = Reading {
        body: response.bytes_stream().boxed(),
        bytes: 0,
        events: sse::Reader::default(),
        protocol,
        ready: VecDeque::new(),
        ended: false,
        until: None,
        tally,
    };
    stream::unfold(reading, |mut reading| async {
        let next = reading.next().await?;
        Some((next, reading))
    })
    .boxed()
}

impl<P: Protocol> Reading<P> {
    async fn next(&mut self) -> Option<Result<Delta, Failure>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(delta);
            }
            if self.ended {
                return None;
            }
            let bytes = self.bytes().await;
            let mut deltas = Vec::new();
            let result = self.take(bytes, &mut deltas);
            self.tally.counted = self.protocol.progress().usage.or(self.tally.counted);
            self.tally.finished = self.protocol.is_finished();
            self.tally.answered += deltas.iter().map(characters).sum::<usize>();
            self.ready.extend(deltas.into_iter().map(Ok));
            if let Err(failure) = result {
                self.ended = true;
                self.ready.push_back(Err(failure));
            }
            self.ended |= self.protocol.is_over();
        }
    }

    /// The next bytes; none at the end, or when the model has finished and nothing else comes.
    async fn bytes(&mut self) -> Option<reqwest::Result<Bytes>> {
        if !self.protocol.is_finished() {
            return self.body.next().await;
        }
        // From the finish on, not from each thing that comes behind it.
        let until = *self.until.get_or_insert_with(|| Instant::now() + AFTER_FINISH);
        timeout_at(until, self.body.next()).await.unwrap_or_default()
    }

    fn take(&mut self, bytes: Option<reqwest::Result<Bytes>>, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let mut events = Vec::new();
        let too_long = |error: sse::TooLong| Failure::protocol(error.to_string());
        let closed = match bytes {
            Some(Ok(bytes)) => {
                self.bytes += bytes.len();
                self.events.feed(&bytes, &mut events).map_err(too_long)?;
                if self.bytes > BODY_BYTES {
                    return Err(Failure::protocol("the reply never comes to its end"));
                }
                false
            }
            // What was finished is not undone by a connection that breaks afterwards.
            Some(Err(error)) if !self.protocol.is_finished() => {
                return Err(Failure::unavailable(format!(
                    "the stream broke off: {}",
                    root_cause(&error)
                )));
            }
            Some(Err(_)) => true,
            None => {
                self.events.finish(&mut events).map_err(too_long)?;
                true
            }
        };
        for event in events {
            if !self.protocol.is_over() {
                self.protocol.take(&event, out)?;
            }
        }
        if closed && !self.protocol.is_over() {
            self.ended = true;
            self.protocol.closed(out)?;
        }
        Ok(())
    }
}

fn characters(delta: &Delta) -> usize {
    match delta {
        Delta::Event(ReplyEvent::Text(text)) => text.chars().count(),
        Delta::Event(ReplyEvent::Tool { name, arguments, .. }) => name.len() + arguments.to_string().len(),
        Delta::Thinking | Delta::Working => 0,
    }
}

/// The innermost reason of an error: the outer ones name the address, and that only.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
