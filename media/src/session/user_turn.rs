//! What the user says in the present turn: its voice and its words so far. When the turn is over is decided elsewhere
//! ([`crate::turn::endpointing`]).

use super::hearing::HeardBlock;
use crate::turn::barge_in::{Observation, floor::Floor};

#[derive(Default)]
pub(super) struct UserTurn {
    /// The words so far. Kept because barge-in needs them for every block.
    words: String,
    /// Their meaning over the agent's speech.
    floor: Floor,
    /// Whether a recogniser that answers each request was asked and has not answered.
    is_asked: bool,
    /// Time of the recogniser's last final words in this turn.
    final_ms: Option<u64>,
    /// Whether a pause of this turn was reported.
    pause_told: bool,
    /// Start of the present voice, and the end of the last voiced block.
    onset_ms: Option<u64>,
    last_voiced_ms: u64,
    /// Whether the voice has continued since it was reported, without a request for words.
    is_voice_known: bool,
    /// Whether voice began that was not reported.
    voice_began: bool,
}

impl UserTurn {
    /// Takes a block without echo, and whether its voice counts.
    pub(super) fn hear(&mut self, block: &HeardBlock, heeded: bool) {
        self.onset_ms = block.onset_ms.filter(|_| heeded);
        self.is_voice_known &= block.onset_ms.is_some();
        if block.voiced_ms > 0 && heeded {
            self.voice_began |= !std::mem::replace(&mut self.is_voice_known, true);
            self.last_voiced_ms = self.last_voiced_ms.max(block.voiced_until_ms);
        }
    }

    /// Ends the present voice, since no audio arrives.
    pub(super) fn fall_silent(&mut self) {
        self.onset_ms = None;
    }

    /// Returns whether voice began since the last call: at first, after a silence, or after words were requested.
    pub(super) fn voice_began(&mut self) -> bool {
        std::mem::take(&mut self.voice_began)
    }

    /// Notes a request for final words, and whether it will be answered.
    pub(super) fn asked(&mut self, is_answered: bool) {
        self.is_voice_known = false;
        self.is_asked = is_answered;
    }

    /// Notes that the recogniser's final came, at `at_ms` if it says something.
    pub(super) fn answered(&mut self, at_ms: Option<u64>) {
        self.is_asked = false;
        self.final_ms = at_ms.or(self.final_ms);
    }

    pub(super) fn begin(&mut self) {
        self.final_ms = None;
    }

    /// Sets the words so far. Returns whether they differ.
    pub(super) fn set_words(&mut self, words: &str) -> bool {
        let changed = words != self.words;
        if changed {
            words.clone_into(&mut self.words);
            self.floor = Floor::so_far(words);
        }
        changed
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }

    pub(super) fn pause(&mut self) {
        self.pause_told = true;
    }

    /// Notes that the turn continues. Returns whether a pause was reported.
    pub(super) fn resume(&mut self) -> bool {
        std::mem::take(&mut self.pause_told)
    }

    pub(super) fn end(&mut self) {
        self.words.clear();
        self.floor = Floor::Silent;
        self.pause_told = false;
    }

    pub(super) fn final_ms(&self) -> Option<u64> {
        self.final_ms
    }

    /// Returns what barge-in needs to know. `is_speech`: whether the recogniser heard speech, understood or not.
    pub(super) fn observation(&self, at_ms: u64, is_speech: bool) -> Observation<'_> {
        Observation {
            at_ms,
            onset_ms: self.onset_ms,
            last_voiced_ms: self.last_voiced_ms,
            words: &self.words,
            floor: self.floor,
            is_speech,
            is_asked: self.is_asked,
        }
    }
}
