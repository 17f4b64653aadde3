//! The agent's own voice and words that come back from the user's side.

mod guard;
mod words;

use guard::EchoGuard;

use super::{hearing::HeardBlock, messages::SpeechId, speaking::Speaking};
use crate::turn::endpointing::{Endpointing, Utterance};

/// Time in milliseconds after an echo within which its words may come: its delay, and the recogniser's.
const WORDS_MS: u64 = 2_000;

/// Time in milliseconds after an echo within which a turn counts as begun in the middle of it.
const AMIDST_MS: u64 = 100;

/// Time in milliseconds after a turn began within which the recogniser's earlier words may come.
const STRAGGLING_MS: u64 = 400;

/// Number of successive words of the agent that count as its echo too, if the voice is weaker than the
/// agent's by [`WEAK_DB`].
const ENOUGH_WORDS: usize = 3;

/// Loss in dB against the agent from which a voice is weak.
const WEAK_DB: f32 = 6.0;

/// Removes the agent's voice and words from those of the user.
pub(super) struct Echo {
    guard: EchoGuard,
    /// The agent's last words, and the time of their end in the stream.
    said: String,
    said_ms: u64,
    /// End of the last voice whose turn ended without words. Its words may still come.
    unworded_ms: Option<u64>,
    /// The speech whose echo was reported.
    reported: Option<SpeechId>,
}

impl Echo {
    pub(super) fn new() -> Self {
        Self {
            guard: EchoGuard::new(),
            said: String::new(),
            said_ms: 0,
            unworded_ms: None,
            reported: None,
        }
    }

    /// Takes a block, and the level played meanwhile.
    pub(super) fn hear(&mut self, block: HeardBlock, played_db: f32) {
        self.guard.hear(block, played_db);
    }

    pub(super) fn poll(&mut self) -> Option<HeardBlock> {
        self.guard.poll()
    }

    /// Returns whether an echo of this speech is heard that was not reported. It is reported once for each.
    pub(super) fn is_news(&mut self, speech: Option<SpeechId>, at_ms: u64) -> bool {
        let is_news = speech.is_some() && speech != self.reported && self.guard.heard_within(0, at_ms);
        if is_news {
            self.reported = speech;
        }
        is_news
    }

    /// Notes the agent's last words, which end at `at_ms`.
    pub(super) fn agent_said(&mut self, words: &str, at_ms: u64) {
        words.clone_into(&mut self.said);
        self.said_ms = at_ms;
    }

    pub(super) fn turn_ended(&mut self, utterance: &Utterance) {
        self.unworded_ms = utterance.text.is_empty().then_some(utterance.ended_ms);
    }

    /// Returns the words without those of the agent's echo, if there may be any.
    pub(super) fn without<'a>(
        &self,
        text: &'a str,
        at_ms: u64,
        turn: &Endpointing,
        speaking: &Speaking,
    ) -> Option<&'a str> {
        let by_shape = self.guard.heard_within(WORDS_MS, at_ms) && self.may_be_echo(turn, at_ms);
        let speaks = speaking.is_audible() || at_ms < self.said_ms + WORDS_MS;
        if !(by_shape || speaks && self.guard.is_weak(WEAK_DB)) {
            return None;
        }
        let mut said = self.said.clone();
        said.push(' ');
        said.push_str(speaking.text());
        // Words that come now may belong to the user's voice, possibly of a turn that is over.
        let late = self.unworded_ms.is_some_and(|ended_ms| at_ms < ended_ms + WORDS_MS);
        let own = match by_shape && !(late || turn.has_voice()) {
            true => words::without_misheard(text, &said),
            false => words::without_own(text, &said),
        };
        let enough = by_shape || (own.is_empty() && text.split_whitespace().count() >= ENOUGH_WORDS);
        enough.then_some(own)
    }

    /// Returns whether words that come now may have been said before the user's turn: the turn has not begun
    /// or only just, or it began in the middle of an echo.
    fn may_be_echo(&self, turn: &Endpointing, at_ms: u64) -> bool {
        turn.started_ms().is_none_or(|started_ms| {
            let amidst = self.guard.heard_within(AMIDST_MS, started_ms);
            amidst || at_ms < started_ms + STRAGGLING_MS
        })
    }
}
