//! A message's events: blocks of text and of tool calls, begun, continued and stopped by number.

use std::collections::BTreeMap;

use domain::ports::language_model::ReplyEvent;
use serde_json::Value;

use crate::failure::Failure;
use crate::llm::{
    chat::arguments,
    reply_stream::{Delta, MOST_TEXT, Protocol, Usage, figure, in_all, named, one_more},
    sse::Event,
};

#[derive(Debug)]
struct Call {
    name: String,
    /// Given whole with the block's begin; streamed after that as a rule.
    input: Value,
    streamed: String,
}

/// One reply's stream.
#[derive(Debug, Default)]
pub(crate) struct MessageStream {
    calls: BTreeMap<u64, Call>,
    /// Bytes of all calls so far.
    call_bytes: usize,
    /// Bytes of words so far.
    said: usize,
    stop_reason: Option<String>,
    over: bool,
    usage: Option<Usage>,
}

impl MessageStream {
    fn begin_block(&mut self, event: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let block = &event["content_block"];
        match block["type"].as_str() {
            Some("text") => self.say(&block["text"], out),
            Some("tool_use") => {
                let call = Call {
                    name: block["name"].as_str().unwrap_or_default().to_owned(),
                    input: block["input"].clone(),
                    streamed: String::new(),
                };
                one_more(self.calls.len())?;
                named(&call.name)?;
                self.grow(call.name.len() + call.input.to_string().len())?;
                let index = event["index"].as_u64();
                self.calls.insert(index.unwrap_or(self.calls.len() as u64), call);
                out.push(Delta::Working);
                Ok(())
            }
            _ => {
                out.push(Delta::Thinking);
                Ok(())
            }
        }
    }

    fn continue_block(&mut self, event: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let delta = &event["delta"];
        match delta["type"].as_str() {
            Some("text_delta") => self.say(&delta["text"], out),
            Some("input_json_delta") => {
                let index = event["index"].as_u64();
                let call = match index {
                    Some(index) => self.calls.get_mut(&index),
                    None => self.calls.values_mut().next_back(),
                };
                if let Some((call, piece)) = call.zip(delta["partial_json"].as_str()) {
                    call.streamed.push_str(piece);
                    self.grow(piece.len())?;
                }
                out.push(Delta::Working);
                Ok(())
            }
            Some("thinking_delta" | "signature_delta") => {
                out.push(Delta::Thinking);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Counts what a call has got.
    fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        self.call_bytes += bytes;
        in_all(self.call_bytes)
    }

    fn say(&mut self, words: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let words = words.as_str().unwrap_or_default();
        if words.is_empty() {
            return Ok(());
        }
        self.said += words.len();
        if self.said > MOST_TEXT {
            return Err(Failure::protocol("the reply is longer than anybody listens to"));
        }
        out.push(Delta::Event(ReplyEvent::Text(words.to_owned())));
        Ok(())
    }

    /// Figures grow from event to event; what an event leaves out stands as it was.
    fn count(&mut self, usage: &Value) {
        let figure = |name: &str| figure(usage.get(name));
        let counted = self.usage.get_or_insert_default();
        if let Some(fresh) = figure("input_tokens") {
            let written = figure("cache_creation_input_tokens").unwrap_or(0);
            counted.cached = figure("cache_read_input_tokens").unwrap_or(0);
            counted.input = fresh + written + counted.cached;
        }
        if let Some(output) = figure("output_tokens") {
            counted.output = output;
        }
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.over = true;
        if self.said == 0 && self.calls.is_empty() && self.stop_reason.as_deref() == Some("refusal") {
            return Err(Failure::OurFault("the model refuses to answer".into()));
        }
        let calls = std::mem::take(&mut self.calls).into_values();
        let named = calls.filter(|call| !call.name.is_empty());
        out.extend(named.map(|call| {
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
}

impl Protocol for MessageStream {
    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| Failure::protocol(format!("an event is not JSON: {error}")))?;
        match data["type"].as_str().unwrap_or(&event.name) {
            "message_start" => {
                self.count(&data["message"]["usage"]);
                Ok(())
            }
            "content_block_start" => self.begin_block(&data, out),
            "content_block_delta" => self.continue_block(&data, out),
            "message_delta" => {
                self.count(&data["usage"]);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
                Ok(())
            }
            "message_stop" => self.end(out),
            "error" => Err(Failure::of_error(&data["error"])),
            _ => Ok(()),
        }
    }

    fn closed(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        match self.stop_reason {
            Some(_) => self.end(out),
            None => Err(Failure::unavailable("the stream ended before the reply did")),
        }
    }

    fn is_finished(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

#[cfg(test)]
mod tests;
