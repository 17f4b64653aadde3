//! Short words while an answer takes long, so that nobody thinks the line is dead. They are the beginning of the
//! reply's speech, or stand between its pieces: they are heard, interrupted and kept like the rest of it.

use serde_json::json;

use super::{Effect, Phase, State, event_fact};
use crate::call::CallTimer;

/// How long after the model was asked the first one comes, when nothing was said yet.
pub(super) const FIRST_MS: u64 = 1_500;

/// How long after one the next one comes, at the soonest.
const NEXT_MS: u64 = 4_000;

/// How long the line is silent in the middle of a reply before one comes.
const STALLED_MS: u64 = 2_000;

/// A byte of text takes about so long to say: 13 letters in a second, which is slow, so that no filler falls between
/// words that still play.
pub(super) const BYTE_MS: f64 = 80.0;

/// How soon it is tried again while the user makes a sound.
const AGAIN_MS: u64 = 500;

impl State {
    /// The model is asked since `asked_ms`, and nothing was said.
    pub(super) fn await_reply(&self, asked_ms: u64, now_ms: u64, fx: &mut Vec<Effect>) {
        self.set_filler(asked_ms + FIRST_MS, now_ms, fx);
    }

    /// A piece of the reply is out: it takes a while to say.
    pub(super) fn await_more(&mut self, piece: &str, now_ms: u64, fx: &mut Vec<Effect>) {
        let takes_ms = piece.len() as u64 * self.rules.byte_ms;
        self.reply.said_until_ms = self.reply.said_until_ms.max(now_ms) + takes_ms;
        self.set_filler(self.reply.said_until_ms + STALLED_MS, now_ms, fx);
    }

    fn set_filler(&self, due_ms: u64, now_ms: u64, fx: &mut Vec<Effect>) {
        if self.rules.phrases.fillers.is_empty() {
            return;
        }
        let due_ms = self
            .reply
            .filled_ms
            .map_or(due_ms, |filled_ms| due_ms.max(filled_ms + NEXT_MS));
        fx.push(Effect::SetTimer(
            CallTimer::Filler,
            due_ms.saturating_sub(now_ms).max(1),
        ));
    }

    /// The answer takes long.
    pub(super) fn fill(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if let Phase::Transferring(_) = self.phase {
            return self.comfort(fx);
        }
        let fillers = self.rules.phrases.fillers;
        if !(self.reply.open || self.waits_for_tools())
            || fillers.is_empty()
            || !matches!(self.phase, Phase::Thinking | Phase::Speaking)
        {
            return;
        }
        if self.user.speaking {
            fx.push(Effect::SetTimer(CallTimer::Filler, AGAIN_MS));
            return;
        }
        let filler = fillers[self.reply.fillers % fillers.len()];
        self.reply.fillers += 1;
        self.reply.filled_ms = Some(now_ms);
        let after_token = self.latency.has_token();
        fx.push(event_fact(
            "filler",
            self.elapsed_ms(now_ms),
            &json!({ "afterFirstToken": after_token }).to_string(),
        ));
        self.latency.filled = true;
        self.say_before_reply(filler, fx);
        fx.push(Effect::SetTimer(CallTimer::Filler, NEXT_MS));
    }

    /// Words that the reply under way follows.
    pub(super) fn say_before_reply(&mut self, words: &str, fx: &mut Vec<Effect>) {
        self.reply.only_filled |= self.phase == Phase::Thinking;
        self.phase = Phase::Speaking;
        self.say_piece(format!("{words} "), false, fx);
    }

    /// Whether the speech has nothing but fillers.
    pub(super) fn is_only_filled(&self) -> bool {
        self.reply.only_filled && self.speech.is_some()
    }
}
