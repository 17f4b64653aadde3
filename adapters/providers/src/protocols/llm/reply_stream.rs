//! Reading of a provider's reply: bytes to events, events to deltas, with a count of the usage.

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
use reqwest::{Version, header};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{
    failure::Failure,
    protocols::llm::sse::{self, Event},
};

/// Maximum bytes read of a reply's stream: ten times the size of a long reply with its thoughts.
const BODY_BYTES: usize = 8 * 1024 * 1024;

/// Maximum bytes of one reply's words: twice what a call speaks.
pub(crate) const MOST_TEXT: usize = 16_000;

/// Maximum number of tool calls in one reply.
pub(crate) const MOST_CALLS: usize = 32;

/// Maximum bytes of a tool's name: the longest that any provider accepts, since the name is sent back.
const MOST_NAME_BYTES: usize = 64;

/// Maximum bytes of all tool calls of one reply together. A form of a hundred fields has some thousands.
pub(crate) const MOST_CALL_BYTES: usize = 64 * 1024;

/// How long to wait for further data (the usage) once the model has finished.
const AFTER_FINISH: Duration = Duration::from_millis(500);

/// Largest plausible number of tokens. Larger figures are ignored.
const MOST_TOKENS: u64 = 20_000_000;

/// Characters per token, to estimate what a provider did not count. OpenAI's rule of thumb for English.
const TOKEN_CHARACTERS: usize = 4;

/// Step of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delta {
    /// The model is thinking: it is alive but says nothing yet.
    Thinking,
    /// A tool call is being written.
    Working,
    /// Words, or a complete tool call.
    Event(ReplyEvent),
}

/// Reply in progress. Dropping it cancels the request at the provider.
pub(crate) type Deltas = BoxStream<'static, Result<Delta, Failure>>;

/// Usage that a provider reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Input tokens, including those from the cache.
    pub input: u64,
    /// Input tokens from the cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

/// Returns a token count if it is plausible.
pub(crate) fn figure(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|tokens| *tokens <= MOST_TOKENS)
}

/// Streaming protocol of one provider.
pub(crate) trait Protocol: Send + 'static {
    /// Returns whether some servers end a reply without saying so: with the stream.
    fn may_just_end(&self) -> bool {
        false
    }

    /// Handles an event.
    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure>;

    /// Ends the reply and gives out the text that was held back.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure>;

    /// Returns the progress of the reply.
    fn progress(&self) -> &Progress;

    /// Handles the end of the bytes. It is a failure if the reply is not finished, unless the bytes are certainly
    /// `complete` and have words or whole tool calls.
    fn closed(&mut self, complete: bool, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if self.is_finished() {
            return self.end(out);
        }
        self.progress().check(true)?;
        let before = out.len();
        if complete && self.may_just_end() {
            self.end(out)?;
            let arguments = out[before..].iter().filter_map(|delta| match delta {
                Delta::Event(ReplyEvent::Tool { arguments, .. }) => Some(arguments.is_object()),
                _ => None,
            });
            let whole: Vec<bool> = arguments.collect();
            if (self.progress().said > 0 || !whole.is_empty()) && !whole.contains(&false) {
                return Ok(());
            }
        }
        out.truncate(before);
        Err(Failure::unavailable("the stream ended before the reply did"))
    }

    /// Returns whether the model has said everything, though usage may follow.
    fn is_finished(&self) -> bool {
        self.progress().finish_reason.is_some()
    }

    /// Returns whether nothing more follows.
    fn is_over(&self) -> bool {
        self.progress().over
    }
}

/// Progress of a reply.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Bytes of words so far.
    pub said: usize,
    /// Finish reason, once the model has finished.
    pub finish_reason: Option<String>,
    /// Whether nothing more follows.
    pub over: bool,
    /// Usage that the provider has reported so far.
    pub usage: Option<Usage>,
    /// First half of a surrogate pair that the words so far end with.
    pub half: Option<u32>,
    /// Error of the first event that could not be read.
    unreadable: Option<String>,
}

impl Progress {
    /// Skips an event that cannot be read. The others make the reply.
    pub(crate) fn skip(&mut self, error: &serde_json::Error) -> Result<(), Failure> {
        tracing::warn!(%error, "event of the reply's stream is not JSON, skipped");
        self.unreadable
            .get_or_insert_with(|| format!("an event is not JSON: {error}"));
        Ok(())
    }

    /// Returns a failure if an event could not be read and the reply is empty.
    pub(crate) fn check(&self, is_empty: bool) -> Result<(), Failure> {
        let unreadable = self.unreadable.clone().filter(|_| is_empty);
        unreadable.map_or(Ok(()), |why| Err(Failure::protocol(why)))
    }

    /// Gives out words, if there are any.
    pub(crate) fn say(&mut self, words: String, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if words.is_empty() {
            return Ok(());
        }
        self.said += words.len();
        if self.said > MOST_TEXT {
            return Err(Failure::protocol("the reply is too long"));
        }
        out.push(Delta::Event(ReplyEvent::Text(words)));
        Ok(())
    }
}

/// Usage counter of a request. It reports when it is dropped, however the request ended.
pub(crate) struct Tally {
    pub provider: &'static str,
    pub model: String,
    pub meter: Meter,
    /// Characters of the request.
    pub asked: usize,
    /// Characters received.
    pub answered: usize,
    pub counted: Option<Usage>,
    /// Whether the reply, and so the reported usage, is complete.
    pub finished: bool,
}

impl Tally {
    pub(crate) fn new(provider: &'static str, model: String, meter: Meter, prompt: &Prompt) -> Self {
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

/// Returns the approximate number of characters that the model reads.
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
        // Usage may come in parts, and a cancelled stream reports none for its output.
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

/// Checks that a reply may have one more tool call.
pub(crate) fn one_more(calls: usize) -> Result<(), Failure> {
    match calls < MOST_CALLS {
        true => Ok(()),
        false => Err(Failure::protocol("too many tool calls in one reply")),
    }
}

/// Checks the length of a tool's name.
pub(crate) fn named(name: &str) -> Result<(), Failure> {
    match name.len() <= MOST_NAME_BYTES {
        true => Ok(()),
        false => Err(Failure::protocol("a tool's name is too long")),
    }
}

/// Checks the size of all tool calls of a reply.
pub(crate) fn in_all(bytes: usize) -> Result<(), Failure> {
    match bytes <= MOST_CALL_BYTES {
        true => Ok(()),
        false => Err(Failure::protocol("the tool calls of one reply are too long")),
    }
}

/// Body that is being read.
struct Reading {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    /// Whether the end of the body shows: a lost connection is no end.
    shows_end: bool,
    bytes: usize,
    events: sse::Reader,
    /// The body of a server that streams no events and answers with one JSON object.
    object: Option<Vec<u8>>,
    protocol: Box<dyn Protocol>,
    ready: VecDeque<Result<Delta, Failure>>,
    ended: bool,
    /// Deadline for further data, once the model has finished.
    until: Option<Instant>,
    tally: Tally,
}

/// Returns the deltas of a body. The stream ends after the first failure.
pub(crate) fn read(response: reqwest::Response, protocol: Box<dyn Protocol>, tally: Tally) -> Deltas {
    let is_framed = |name| response.headers().contains_key(name);
    let reading = Reading {
        shows_end: response.version() == Version::HTTP_2
            || [header::TRANSFER_ENCODING, header::CONTENT_LENGTH]
                .iter()
                .any(is_framed),
        body: response.bytes_stream().boxed(),
        bytes: 0,
        events: sse::Reader::default(),
        object: None,
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

impl Reading {
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

    /// Returns the next bytes. Returns `None` at the end, or if the model has finished and nothing else comes in time.
    async fn bytes(&mut self) -> Option<reqwest::Result<Bytes>> {
        if !self.protocol.is_finished() {
            return self.body.next().await;
        }
        // The deadline counts from the finish, not from later data.
        let until = *self.until.get_or_insert_with(|| Instant::now() + AFTER_FINISH);
        timeout_at(until, self.body.next()).await.unwrap_or_default()
    }

    fn take(&mut self, bytes: Option<reqwest::Result<Bytes>>, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let mut events = Vec::new();
        let too_long = |error: sse::TooLong| Failure::protocol(error.to_string());
        let closed = match bytes {
            Some(Ok(bytes)) => {
                if self.bytes == 0 && bytes.trim_ascii_start().starts_with(b"{") {
                    self.object = Some(Vec::new());
                }
                self.bytes += bytes.len();
                match &mut self.object {
                    Some(object) => object.extend_from_slice(&bytes),
                    None => self.events.feed(&bytes, &mut events).map_err(too_long)?,
                }
                if self.bytes > BODY_BYTES {
                    return Err(Failure::protocol("the reply's stream is too long"));
                }
                false
            }
            // A finished reply stays valid even if the connection breaks afterwards.
            Some(Err(error)) if !self.protocol.is_finished() => {
                return Err(Failure::unavailable(format!(
                    "the stream broke off: {}",
                    root_cause(&error)
                )));
            }
            Some(Err(_)) => true,
            None => {
                self.events.finish(&mut events).map_err(too_long)?;
                events.extend(self.object.as_deref().map(|object| Event {
                    name: String::new(),
                    data: String::from_utf8_lossy(object).into_owned(),
                }));
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
            self.protocol.closed(self.shows_end, out)?;
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

/// Returns the innermost cause of an error. The outer ones only name the address.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
