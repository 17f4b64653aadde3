//! Parser of a chat completion's chunks. It is lenient, since servers leave out, add and number things in
//! their own ways.

use serde_json::Value;

use super::calls::Calls;
use crate::failure::Failure;
use crate::llm::{
    reasoning::ThinkFilter,
    reply_stream::{Delta, Progress, Protocol, Usage, figure},
    sse::Event,
};

/// Stream of one reply.
pub(crate) struct ChatStream {
    provider: &'static str,
    words: ThinkFilter,
    calls: Calls,
    progress: Progress,
}

impl ChatStream {
    pub(crate) fn new(provider: &'static str) -> Self {
        Self {
            provider,
            words: ThinkFilter::default(),
            calls: Calls::default(),
            progress: Progress::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        // If every chunk has usage, it grows, so the last one counts.
        let usage = [chunk.get("usage"), chunk.pointer("/x_groq/usage")];
        let usage = usage.into_iter().flatten().find_map(usage_of);
        self.progress.usage = usage.or(self.progress.usage);
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(());
        };
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta, out)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.progress.finish_reason = Some(reason.to_owned());
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
            self.progress.say(words, out)?;
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls.take(piece)?;
            out.push(Delta::Working);
        }
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

    /// Ends the reply. Its tool calls are made whatever the finish reason is.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let progress = &mut self.progress;
        progress.over = true;
        progress.say(self.words.finish(), out)?;
        let withheld = progress.finish_reason.as_deref() == Some("content_filter");
        if progress.said == 0 && self.calls.is_empty() && withheld {
            return Err(Failure::OurFault("withheld by the provider's content filter".into()));
        }
        out.extend(self.calls.finish(self.provider).into_iter().map(Delta::Event));
        Ok(())
    }

    fn progress(&self) -> &Progress {
        &self.progress
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
