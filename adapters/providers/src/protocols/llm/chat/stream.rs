//! Parser of a chat completion's chunks. It is lenient, since servers leave out, add and number things in
//! their own ways.

use domain::{ports::language_model::ReplyEvent, prompt::Tool};
use serde_json::Value;

use crate::{
    failure::Failure,
    protocols::llm::{
        chat::calls::Calls,
        format::Format,
        halves,
        reply_stream::{Delta, Progress, Protocol, Usage, figure, one_more},
        sse::Event,
        written::{Part, Written},
    },
};

/// Stream of one reply.
pub(crate) struct ChatStream {
    provider: &'static str,
    text: Written,
    calls: Calls,
    progress: Progress,
}

impl ChatStream {
    pub(crate) fn new(provider: &'static str, format: Format, tools: &[Tool]) -> Self {
        Self {
            provider,
            text: Written::new(format, tools),
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
            self.text.without_thoughts();
            out.push(Delta::Thinking);
        }
        for piece in ["content", "refusal"].into_iter().filter_map(text) {
            let piece = halves::join(piece, &mut self.progress.half);
            let parts = self.text.push(Some(&piece))?;
            self.give_out(parts, out)?;
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.calls.take(piece)?;
            out.push(Delta::Working);
        }
        Ok(())
    }

    fn give_out(&mut self, parts: Vec<Part>, out: &mut Vec<Delta>) -> Result<(), Failure> {
        for part in parts {
            match part {
                Part::Speech(words) => self.progress.say(words, out)?,
                Part::Thought => out.push(Delta::Thinking),
                Part::Call => out.push(Delta::Working),
            }
        }
        Ok(())
    }
}

impl Protocol for ChatStream {
    fn may_just_end(&self) -> bool {
        true
    }

    fn take(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<(), Failure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return self.end(out);
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk = match halves::read(data) {
            Ok(chunk) => chunk,
            Err(error) => return self.progress.skip(&error),
        };
        match chunk.get("error") {
            Some(error) if !matches!(error, Value::Null | Value::Bool(false)) => Err(Failure::of_error(error)),
            _ if event.name == "error" => Err(Failure::of_error(&chunk)),
            _ => self.chunk(&chunk, out),
        }
    }

    /// Ends the reply. Its tool calls are made whatever the finish reason is.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.progress.over = true;
        let reason = self.progress.finish_reason.clone().unwrap_or_default();
        if reason != "length" {
            self.text.without_thoughts();
        }
        let parts = self.text.push(None)?;
        self.give_out(parts, out)?;
        let mut calls = self.calls.finish(self.provider);
        let is_silent = self.progress.said == 0 && calls.is_empty();
        for (name, arguments) in self.text.take_calls(is_silent) {
            one_more(calls.len())?;
            let echo = None;
            let call = ReplyEvent::Tool { name, arguments, echo };
            // Some servers leave a call that they have read in the text.
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        let is_empty = self.progress.said == 0 && calls.is_empty();
        if is_empty && reason == "content_filter" {
            return Err(Failure::OurFault("withheld by the provider's content filter".into()));
        }
        self.progress.check(is_empty)?;
        out.extend(calls.into_iter().map(Delta::Event));
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
