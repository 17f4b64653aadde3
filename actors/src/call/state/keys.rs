//! Keys that the user presses. They are gathered until `#` or a pause, then taken as the user's words.

use media::turn::endpointing::Utterance;
use serde_json::json;

use super::{Effect, Phase, State};
use crate::{audio_stream::SpeechId, call::CallTimer};

/// Time in milliseconds to wait for the next key.
const PAUSE_MS: u64 = 2_000;

/// Most keys of one entry, more than any number that people type.
const MOST_KEYS: usize = 64;

/// Keys that have not become words yet. Times are those of the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    typed: String,
    started_ms: u64,
    last_ms: u64,
}

impl State {
    /// Handles a key. It interrupts the agent like voice does, but at once, since nobody presses a key by chance.
    pub(super) fn key_pressed(&mut self, key: char) {
        if !self.in_conversation() && self.operator.is_none() {
            return;
        }
        self.user_speaks();
        self.stop_for_key();
        let at_ms = self.stream_ms(self.now_ms);
        if self.keys.typed.is_empty() {
            self.keys.started_ms = at_ms;
        }
        self.keys.last_ms = at_ms;
        let done = key == '#';
        if !done || self.keys.typed.is_empty() {
            self.keys.typed.push(key);
        }
        if done || self.keys.typed.len() >= MOST_KEYS {
            self.keys_over();
        } else {
            self.fx.push(Effect::SetTimer(CallTimer::Keys, PAUSE_MS));
        }
    }

    fn stop_for_key(&mut self) {
        if !self.leg.barge_in || !matches!(self.phase, Phase::Greeting | Phase::Speaking) {
            return;
        }
        // The user gets the turn once the stream has reported how much of the speech was heard.
        if let Some(speech) = self.speech.as_mut().filter(|speech| !speech.protected && !speech.cut) {
            speech.cut = true;
            self.fx.push(Effect::StopSpeaking);
        }
    }

    /// Returns whether this speech was stopped by a key and the report of what was heard is still to come.
    pub(super) fn is_cut(&self, id: SpeechId) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.id == id && speech.cut)
    }

    /// Answers what was typed once the speech that a key stopped is over, unless the user is still typing.
    pub(super) fn answer_keys(&mut self, for_key: bool) {
        if for_key && self.phase == Phase::Listening && self.user.unanswered && self.keys.typed.is_empty() {
            self.user.speaking = false;
            self.answer_words();
        }
    }

    /// Takes the typed keys as the user's words.
    pub(super) fn keys_over(&mut self) {
        if let Some(typed) = self.typed() {
            self.utterance(&typed, true);
        }
    }

    /// Keeps the typed keys like other words when the call or its line is over.
    pub(super) fn keep_keys(&mut self) {
        if let Some(typed) = self.typed() {
            self.keep_words(&typed);
        }
    }

    fn typed(&mut self) -> Option<Utterance> {
        let keys = std::mem::take(&mut self.keys);
        if keys.typed.is_empty() {
            return None;
        }
        self.fx.push(Effect::CancelTimer(CallTimer::Keys));
        let detail = json!({ "keys": keys.typed });
        self.record_at("keys", self.call_ms(keys.started_ms), &detail);
        Some(Utterance {
            text: keys.typed,
            damaged: false,
            started_ms: keys.started_ms,
            ended_ms: keys.last_ms,
            final_ms: None,
        })
    }
}
