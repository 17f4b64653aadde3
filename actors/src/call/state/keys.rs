//! Keys that the user presses. They are gathered until `#` or a pause, then taken as the user's words.

use media::turn::endpointing::Utterance;
use serde_json::json;

use super::{Effect, Phase, State, event_fact};
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
    pub(super) fn key_pressed(&mut self, key: char, now_ms: u64, fx: &mut Vec<Effect>) {
        if !self.in_conversation() && self.operator.is_none() {
            return;
        }
        self.user_speaks(now_ms, fx);
        self.stop_for_key(fx);
        let at_ms = self.stream_ms(now_ms);
        if self.keys.typed.is_empty() {
            self.keys.started_ms = at_ms;
        }
        self.keys.last_ms = at_ms;
        let done = key == '#';
        if !done || self.keys.typed.is_empty() {
            self.keys.typed.push(key);
        }
        if done || self.keys.typed.len() >= MOST_KEYS {
            self.keys_over(now_ms, fx);
        } else {
            fx.push(Effect::SetTimer(CallTimer::Keys, PAUSE_MS));
        }
    }

    fn stop_for_key(&mut self, fx: &mut Vec<Effect>) {
        if !self.leg.barge_in || !matches!(self.phase, Phase::Greeting | Phase::Speaking) {
            return;
        }
        // The user gets the turn once the stream has reported how much of the speech was heard.
        if let Some(speech) = self.speech.as_mut().filter(|speech| !speech.protected && !speech.cut) {
            speech.cut = true;
            fx.push(Effect::StopSpeaking);
        }
    }

    /// Returns whether this speech was stopped by a key and the report of what was heard is still to come.
    pub(super) fn is_cut(&self, id: SpeechId) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.id == id && speech.cut)
    }

    /// Answers what was typed once the speech that a key stopped is over, unless the user is still typing.
    pub(super) fn answer_keys(&mut self, for_key: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        if for_key && self.phase == Phase::Listening && self.user.unanswered && self.keys.typed.is_empty() {
            self.user.speaking = false;
            self.answer_words(now_ms, fx);
        }
    }

    /// Takes the typed keys as the user's words.
    pub(super) fn keys_over(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        if let Some(typed) = self.typed(fx) {
            self.utterance(&typed, true, now_ms, fx);
        }
    }

    /// Keeps the typed keys like other words when the call or its line is over.
    pub(super) fn keep_keys(&mut self, fx: &mut Vec<Effect>) {
        if let Some(typed) = self.typed(fx) {
            self.keep_words(&typed, fx);
        }
    }

    fn typed(&mut self, fx: &mut Vec<Effect>) -> Option<Utterance> {
        let keys = std::mem::take(&mut self.keys);
        if keys.typed.is_empty() {
            return None;
        }
        fx.push(Effect::CancelTimer(CallTimer::Keys));
        let detail = json!({ "keys": keys.typed });
        fx.push(event_fact("keys", self.call_ms(keys.started_ms), &detail.to_string()));
        Some(Utterance {
            text: keys.typed,
            damaged: false,
            started_ms: keys.started_ms,
            ended_ms: keys.last_ms,
            final_ms: None,
        })
    }
}
