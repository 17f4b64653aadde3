//! Latency of an answer, step by step, counted from the user's last voiced frame. All times here are
//! milliseconds of the audio stream.

use serde_json::{Value, json};

/// The steps of one answer.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    /// Time of the user's last voiced frame. `None` if nothing waits for an answer.
    stopped_ms: Option<u64>,
    final_ms: Option<u64>,
    turn_end_ms: u64,
    asked_ms: Option<u64>,
    token_ms: Option<u64>,
    pub speculated: bool,
    /// A filler was said before the answer.
    pub filled: bool,
    /// Time at which the model was asked, if its first word comes after a filler.
    late_asked_ms: Option<u64>,
}

impl Latency {
    /// Starts the measurement when the user's turn is over and an answer follows.
    pub fn turn_ended(stopped_ms: u64, final_ms: Option<u64>, turn_end_ms: u64) -> Self {
        Self {
            stopped_ms: Some(stopped_ms),
            final_ms,
            turn_end_ms,
            ..Self::default()
        }
    }

    /// Notes that the model was asked. Times of an earlier reply are discarded.
    pub fn asked(&mut self, at_ms: u64) {
        self.asked_ms = Some(at_ms);
        self.token_ms = None;
        self.late_asked_ms = None;
        self.speculated = false;
    }

    /// Notes the model's first word. Returns the figures if a filler had to be played before it.
    pub fn first_token(&mut self, at_ms: Option<u64>) -> Option<Value> {
        self.token_ms = self.token_ms.or(at_ms);
        let asked_ms = self.late_asked_ms.take()?;
        Some(json!({ "modelMs": at_ms?.saturating_sub(asked_ms) }))
    }

    /// Returns whether the model has said something.
    pub fn has_token(&self) -> bool {
        self.token_ms.is_some()
    }

    /// Returns the figures of the answer when it begins to play, once. Returns `None` if it answers nobody.
    pub fn played(&mut self, audio_ms: Option<u64>, at_ms: u64) -> Option<Value> {
        let done = std::mem::take(self);
        if done.filled && done.token_ms.is_none() {
            self.late_asked_ms = done.asked_ms;
        }
        let stopped_ms = done.stopped_ms?;
        let since = |at_ms: u64| i64::try_from(at_ms).unwrap_or(i64::MAX) - i64::try_from(stopped_ms).unwrap_or(0);
        Some(json!({
            "finalMs": done.final_ms.map(since),
            "turnEndMs": since(done.turn_end_ms),
            "askedMs": done.asked_ms.map(since),
            "firstTokenMs": done.token_ms.map(since),
            "firstAudioMs": audio_ms.map(since),
            "playoutMs": since(at_ms),
            "speculated": done.speculated,
            "filled": done.filled,
        }))
    }
}
