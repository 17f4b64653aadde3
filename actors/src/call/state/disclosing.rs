//! Tells whoever is on the line, before anything else, that an AI speaks. This is a speech of its own, which a person
//! cannot interrupt. What was to be said follows it.

use serde_json::{Value, json};

use super::{Effect, Phase, State, speech::Speech, who_answered::Machine};
use crate::{audio_stream::SpeechId, call::history::tidy};
use domain::ports::store::{DISCLOSURE, EventFact};

/// State of the disclosure.
#[derive(Debug, Clone, Default)]
pub(super) struct Disclosing {
    /// Whether it was said to whoever is on the line now.
    over: bool,
    /// The speech that says it.
    speech: Option<SpeechId>,
    /// Words that follow, and whether they are protected.
    then: Option<(String, bool)>,
}

impl Disclosing {
    /// Returns the state after these events of another process.
    pub(super) fn inherited(events: &[EventFact]) -> Self {
        let last = events.iter().rfind(|event| event.name == DISCLOSURE);
        Self {
            over: last
                .and_then(|event| serde_json::from_str::<Value>(&event.detail).ok())
                .is_some_and(|detail| detail["heard"] == true),
            ..Self::default()
        }
    }
}

impl State {
    /// Returns whether the disclosure has to be said before anything else.
    pub(super) fn must_disclose(&self) -> bool {
        self.rules.disclosure.is_some() && !self.disclosing.over
    }

    /// Returns whether the disclosure is being said.
    pub(super) fn discloses(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| self.is_disclosure(speech.id))
    }

    fn is_disclosure(&self, id: SpeechId) -> bool {
        self.disclosing.speech == Some(id)
    }

    /// Says nothing after the disclosure that is being said.
    pub(super) fn disclose_alone(&mut self) {
        self.disclosing.then = None;
    }

    /// Has the disclosure said, again if somebody else is on the line now.
    pub(super) fn disclose_anew(&mut self) {
        self.disclosing = Disclosing::default();
        if let Some(disclosure) = &self.rules.disclosure {
            let detail = json!({ "text": disclosure.text, "heard": false });
            self.record(DISCLOSURE, &detail);
        }
    }

    /// Says the disclosure if it must be said, and then these words. If it is being said, only what follows it changes.
    /// Returns false if it was said already.
    pub(super) fn disclose(&mut self, then: Option<(&str, bool)>) -> bool {
        if !self.discloses() {
            let Some(disclosure) = self.rules.disclosure.clone().filter(|_| self.must_disclose()) else {
                return false;
            };
            // A mailbox that talks over its message gets all of it again.
            let is_message = matches!(self.phase, Phase::Machine(Machine::Message { .. }));
            let protected = !is_message || then.is_some_and(|(_, protected)| protected);
            self.reply.only_filled = false;
            self.say_now(&disclosure.text, protected);
            self.disclosing.speech = self.speech.as_ref().map(|speech| speech.id);
        }
        self.disclosing.then = then.map(|(text, protected)| (text.to_owned(), protected));
        true
    }

    /// Returns the estimated time to say the disclosure, if it must be said.
    pub(super) fn disclosure_ms(&self) -> u64 {
        let disclosure = self.rules.disclosure.as_ref().filter(|_| self.must_disclose());
        disclosure.map_or(0, |disclosure| disclosure.text.len() as u64 * self.rules.byte_ms)
    }

    /// Stops the present speech, unless it is the disclosure.
    pub(super) fn stop_speech(&mut self) {
        if self.speech.is_some() && !self.discloses() {
            self.fx.push(Effect::StopSpeaking);
        }
    }

    /// Says the disclosure before the user's last words are answered. Returns false if it was said already.
    pub(super) fn discloses_before_answer(&mut self) -> bool {
        if !self.must_disclose() {
            return false;
        }
        self.user.unanswered = true;
        self.phase = Phase::Speaking;
        self.disclose(None)
    }

    /// Records that all of the disclosure was heard, if this is the end of it.
    pub(super) fn disclosure_heard(&mut self, speech: &Speech, heard: &str, at_ms: u64) {
        if self.is_disclosure(speech.id) && tidy(heard) == tidy(&speech.text) {
            self.disclosing.over = true;
            let detail = json!({ "text": speech.text, "heard": true });
            self.record_at(DISCLOSURE, self.call_ms(at_ms), &detail);
        }
    }

    /// Says what follows the disclosure, if this speech was it. Returns false if there is nothing to say.
    pub(super) fn goes_on_after_disclosure(&mut self, id: SpeechId) -> bool {
        let speaks = matches!(
            self.phase,
            Phase::Greeting | Phase::Speaking | Phase::Closing { .. } | Phase::Machine(_)
        );
        if !speaks || !self.is_disclosure(id) {
            return false;
        }
        self.disclosing.over = true;
        self.disclosing.speech = None;
        let then = self.disclosing.then.take();
        then.map(|(text, protected)| self.say_now(&text, protected)).is_some()
    }
}
