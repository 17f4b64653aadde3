//! Parser of a message's events: numbered blocks of text and of tool calls that start, continue and stop.

use std::collections::BTreeMap;

use domain::ports::language_model::ReplyEvent;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    failure::Failure,
    protocols::llm::{
        chat::arguments,
        halves,
        reply_stream::{Delta, Progress, Protocol, figure, in_all, named, one_more},
        sse::Event,
    },
};

/// Event with the fields of all kinds.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Received {
    #[serde(rename = "type")]
    kind: Option<String>,
    index: Option<u64>,
    message: Message,
    content_block: Block,
    delta: Piece,
    usage: Value,
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    usage: Value,
}

/// Start of a block.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    name: String,
    input: Value,
}

/// Addition to a block or to the message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    partial_json: String,
    stop_reason: Option<String>,
}

#[derive(Debug)]
struct Call {
    name: String,
    /// Arguments sent with the start of the block. They are usually streamed after it instead.
    input: Value,
    streamed: String,
}

/// Stream of one reply.
#[derive(Debug, Default)]
pub(crate) struct MessageStream {
    calls: BTreeMap<u64, Call>,
    /// Bytes of all calls so far.
    call_bytes: usize,
    progress: Progress,
}

impl MessageStream {
    fn say(&mut self, words: &str, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let words = halves::join(words, &mut self.progress.half);
        self.progress.say(words, out)
    }

    fn begin_block(&mut self, index: Option<u64>, block: Block, out: &mut Vec<Delta>) -> Result<(), Failure> {
        match block.kind.as_str() {
            "text" => self.say(&block.text, out)?,
            "tool_use" => {
                one_more(self.calls.len())?;
                named(&block.name)?;
                self.grow(block.name.len() + block.input.to_string().len())?;
                let call = Call {
                    name: block.name,
                    input: block.input,
                    streamed: String::new(),
                };
                self.calls.insert(index.unwrap_or(self.calls.len() as u64), call);
                out.push(Delta::Working);
            }
            _ => out.push(Delta::Thinking),
        }
        Ok(())
    }

    fn continue_block(&mut self, index: Option<u64>, piece: &Piece, out: &mut Vec<Delta>) -> Result<(), Failure> {
        match piece.kind.as_str() {
            "text_delta" => self.say(&piece.text, out)?,
            "input_json_delta" => {
                let call = match index {
                    Some(index) => self.calls.get_mut(&index),
                    None => self.calls.values_mut().next_back(),
                };
                if let Some(call) = call {
                    call.streamed.push_str(&piece.partial_json);
                    self.grow(piece.partial_json.len())?;
                }
                out.push(Delta::Working);
            }
            "thinking_delta" | "signature_delta" => out.push(Delta::Thinking),
            _ => {}
        }
        Ok(())
    }

    /// Counts bytes of a call.
    fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        self.call_bytes += bytes;
        in_all(self.call_bytes)
    }

    /// Updates the usage. Counts grow from event to event, and a count that an event leaves out stays as it was.
    fn count(&mut self, usage: &Value) {
        let figure = |name: &str| figure(usage.get(name));
        let counted = self.progress.usage.get_or_insert_default();
        if let Some(fresh) = figure("input_tokens") {
            let written = figure("cache_creation_input_tokens").unwrap_or(0);
            counted.cached = figure("cache_read_input_tokens").unwrap_or(0);
            counted.input = fresh + written + counted.cached;
        }
        if let Some(output) = figure("output_tokens") {
            counted.output = output;
        }
    }
}

impl Protocol for MessageStream {
    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let received: Received = match halves::read(&event.data).and_then(Received::deserialize) {
            Ok(received) => received,
            // Valid JSON of another shape is an unknown event and is ignored.
            Err(error) if error.is_data() => return Ok(()),
            Err(error) => return self.progress.skip(&error),
        };
        match received.kind.as_ref().unwrap_or(&event.name).as_str() {
            "message_start" => self.count(&received.message.usage),
            "content_block_start" => self.begin_block(received.index, received.content_block, out)?,
            "content_block_delta" => self.continue_block(received.index, &received.delta, out)?,
            "message_delta" => {
                self.count(&received.usage);
                self.progress.finish_reason = received.delta.stop_reason.or(self.progress.finish_reason.take());
            }
            "message_stop" => self.end(out)?,
            "error" => return Err(Failure::of_error(&received.error)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.progress.over = true;
        let refused = self.progress.finish_reason.as_deref() == Some("refusal");
        if self.progress.said == 0 && self.calls.is_empty() && refused {
            return Err(Failure::OurFault("the model refuses to answer".into()));
        }
        let calls = std::mem::take(&mut self.calls).into_values();
        let named = calls.filter(|call| !call.name.is_empty());
        let named: Vec<Call> = named.collect();
        self.progress.check(self.progress.said == 0 && named.is_empty())?;
        out.extend(named.into_iter().map(|call| {
            let arguments = match call.input {
                Value::Object(input) if call.streamed.is_empty() => Value::Object(input),
                _ => arguments(&call.name, &call.streamed),
            };
            Delta::Event(ReplyEvent::Tool {
                name: call.name,
                arguments,
                echo: None,
            })
        }));
        Ok(())
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests;
