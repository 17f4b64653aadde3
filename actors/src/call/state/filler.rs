//! Short words while an answer takes long, so that nobody thinks the line is dead. They start the reply's
//! speech or stand between its pieces, and are heard, interrupted and kept like the rest of it.

use serde_json::json;

use super::{Effect, Phase, State};
use crate::call::CallTimer;

/// Time in milliseconds from the question to the model until the first filler, if nothing was said yet.
pub(super) const FIRST_MS: u64 = 1_500;

/// Shortest time in milliseconds between two fillers.
const NEXT_MS: u64 = 4_000;

/// Silence in milliseconds in the middle of a reply before a filler.
const STALLED_MS: u64 = 2_000;

/// Estimated time in milliseconds to say one byte of text: 13 letters a second. That is slow, so that no
/// filler falls between words that still play.
pub(super) const BYTE_MS: f64 = 80.0;

/// Pause in milliseconds before a filler is tried again while the user makes a sound.
const AGAIN_MS: u64 = 500;

impl State {
    /// Sets the filler timer for a reply of which nothing was said, with the model asked at `asked_ms`.
    pub(super) fn await_reply(&mut self, asked_ms: u64) {
        self.set_filler(asked_ms + FIRST_MS);
    }

    /// Sets the filler timer after a piece of the reply, which takes a while to say.
    pub(super) fn await_more(&mut self, piece: &str) {
        let takes_ms = piece.len() as u64 * self.rules.byte_ms;
        self.reply.said_until_ms = self.reply.said_until_ms.max(self.now_ms) + takes_ms;
        self.set_filler(self.reply.said_until_ms + STALLED_MS);
    }

    fn set_filler(&mut self, due_ms: u64) {
        if self.rules.phrases.fillers.is_empty() {
            return;
        }
        let due_ms = self
            .reply
            .filled_ms
            .map_or(due_ms, |filled_ms| due_ms.max(filled_ms + NEXT_MS));
        self.fx.push(Effect::SetTimer(
            CallTimer::Filler,
            due_ms.saturating_sub(self.now_ms).max(1),
        ));
    }

    /// Says a filler because the answer takes long.
    pub(super) fn fill(&mut self) {
        if let Phase::Transferring(_) = self.phase {
            return self.comfort();
        }
        let fillers = self.rules.phrases.fillers;
        if !(self.reply.open || self.waits_for_tools() || self.is_walking())
            || fillers.is_empty()
            || !matches!(self.phase, Phase::Thinking | Phase::Speaking)
        {
            return;
        }
        if self.user.speaking {
            self.fx.push(Effect::SetTimer(CallTimer::Filler, AGAIN_MS));
            return;
        }
        let filler = fillers[self.reply.fillers % fillers.len()];
        self.reply.fillers += 1;
        self.reply.filled_ms = Some(self.now_ms);
        let after_token = self.latency.has_token();
        self.record("filler", &json!({ "afterFirstToken": after_token }));
        self.latency.filled = true;
        self.say_before_reply(filler);
        self.fx.push(Effect::SetTimer(CallTimer::Filler, NEXT_MS));
    }

    /// Says words before the reply in progress.
    pub(super) fn say_before_reply(&mut self, words: &str) {
        self.reply.only_filled |= self.phase == Phase::Thinking;
        self.phase = Phase::Speaking;
        self.say_piece(format!("{words} "), false);
    }

    /// Returns whether the speech consists of fillers only.
    pub(super) fn is_only_filled(&self) -> bool {
        self.reply.only_filled && self.speech.is_some()
    }
}
