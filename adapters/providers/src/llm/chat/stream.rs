//! A chat completion's chunks, read with patience: servers leave things out, put things in and number them their way.

use domain::ports::language_model::ReplyEvent;
use serde_json::Value;

use super::calls::Calls;
use crate::failure::Failure;
use crate::llm::{
    reasoning::ThinkFilter,
    reply_stream::{Delta, MOST_TEXT, Protocol, Usage, figure},
    sse::Event,
};

/// One reply's stream.
pub(crate) struct ChatStream {
    provider: &'static str,
    words: ThinkFilter,
    /// Bytes of words so far.
    said: usize,
    calls: Calls,
    finish_reason: Option<String>,
    over: bool,
    usage: Option<Usage>,
}

impl ChatStream {
    pub(crate) fn new(provider: &'static str) -> Self {
        Self {
            provider,
            words: ThinkFilter::default(),
            said: 0,
            calls: Calls::default(),
            finish_reason: None,
            over: false,
            usage: None,
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        // Where every chunk has it, it grows: the last one counts.
        let usage = [chunk.get("usage"), chunk.pointer("/x_groq/usage")];
        self.usage = usage.into_iter().flatten().find_map(usage_of).or(self.usage);
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(());
        };
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, out)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("reasoning").or_else(|| text("reasoning_content")).is_some() {
            out.push(Delta::Thinking);
        }
        for words in ["content", "refusal"].into_iter().filter_map(text) {
            let words = self.words.push(words);
            if self.words.is_within() {
                out.push(Delta::Thinking);
            }
            self.say(words, out)?;
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls.take(piece)?;
            out.push(Delta::Working);
        }
        Ok(())
    }

    fn say(&mut self, words: String, out: &mut Vec<Delta>) -> Result<(), Failure> {
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

    /// The reply is whole: what was held back is said, and the calls are made, whatever reason was given for the end.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.over = true;
        let rest = self.words.finish();
        self.say(rest, out)?;
        if self.said == 0 && self.calls.is_empty() && self.finish_reason.as_deref() == Some("content_filter") {
            return Err(Failure::OurFault("withheld by the provider's content filter".into()));
        }
        out.extend(self.calls.finish(self.provider).into_iter().map(Delta::Event));
        Ok(())
    }
}

impl Protocol for ChatStream {
    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return self.end(out);
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Value =
            serde_json::from_str(data).map_err(|error| Failure::protocol(format!("a chunk is not JSON: {error}")))?;
        match chunk.get("error") {
            Some(error) if !matches!(error, Value::Null | Value::Bool(false)) => Err(Failure::of_error(error)),
            _ if event.name == "error" => Err(Failure::of_error(&chunk)),
            _ => self.chunk(&chunk, out),
        }
    }

    fn closed(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        match self.finish_reason {
            Some(_) => self.end(out),
            None => Err(Failure::unavailable("the stream ended before the reply did")),
        }
    }

    fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let figure = |path: &str| figure(usage.pointer(path));
    Some(Usage {
        input: figure("/prompt_tokens")?,
        cached: figure("/prompt_tokens_details/cached_tokens").unwrap_or(0),
        output: figure("/completion_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests;
