//! Tells whoever is on the line, before anything else, that an AI speaks. This is a speech of its own, which a person
//! cannot interrupt. What was to be said follows it.

use serde_json::{Value, json};

use crate::audio_stream::SpeechId;
use crate::call::history::tidy;
use crate::call::state::{Effect, Machine, Phase, Speech, State, speech};
use domain::ports::store::{DISCLOSURE, EventFact};

/// State of the disclosure.
#[derive(Debug, Clone, Default)]
pub struct Disclosing {
    /// Whether it was said to whoever is on the line now.
    over: bool,
    /// The speech that says it.
    speech: Option<SpeechId>,
    /// Words that follow, and whether they are protected.
    then: Option<(String, bool)>,
}

impl Disclosing {
    /// Returns the state after these events of another process.
    pub fn inherited(events: &[EventFact]) -> Self {
        let last = events.iter().rfind(|event| event.name == DISCLOSURE);
        Self {
            over: last
                .and_then(|event| serde_json::from_str::<Value>(&event.detail).ok())
                .is_some_and(|detail| detail["heard"] == true),
            ..Self::default()
        }
    }
}

/// Returns whether the disclosure has to be said before anything else.
pub fn must_disclose(call: &State) -> bool {
    call.rules.disclosure.is_some() && !call.disclosing.over
}

/// Returns whether the disclosure is being said.
pub fn discloses(call: &State) -> bool {
    call.speech
        .as_ref()
        .is_some_and(|speech| is_disclosure(call, speech.id))
}

fn is_disclosure(call: &State, id: SpeechId) -> bool {
    call.disclosing.speech == Some(id)
}

/// Says nothing after the disclosure that is being said.
pub fn disclose_alone(call: &mut State) {
    call.disclosing.then = None;
}

/// Has the disclosure said, again if somebody else is on the line now.
pub fn disclose_anew(call: &mut State) {
    call.disclosing = Disclosing::default();
    if let Some(disclosure) = &call.rules.disclosure {
        let detail = json!({ "text": disclosure.text, "heard": false });
        call.record(DISCLOSURE, &detail);
    }
}

/// Says the disclosure if it must be said, and then these words. If it is being said, only what follows it changes.
/// Returns false if it was said already.
pub fn disclose(call: &mut State, then: Option<(&str, bool)>) -> bool {
    if !discloses(call) {
        let Some(disclosure) = call.rules.disclosure.clone().filter(|_| must_disclose(call)) else {
            return false;
        };
        // A mailbox that talks over its message gets all of it again.
        let is_message = matches!(call.phase, Phase::Machine(Machine::Message { .. }));
        let protected = !is_message || then.is_some_and(|(_, protected)| protected);
        call.reply.only_filled = false;
        speech::say_now(call, &disclosure.text, protected);
        call.disclosing.speech = call.speech.as_ref().map(|speech| speech.id);
    }
    call.disclosing.then = then.map(|(text, protected)| (text.to_owned(), protected));
    true
}

/// Returns the estimated time to say the disclosure, if it must be said.
pub fn disclosure_ms(call: &State) -> u64 {
    let disclosure = call.rules.disclosure.as_ref().filter(|_| must_disclose(call));
    disclosure.map_or(0, |disclosure| disclosure.text.len() as u64 * call.rules.byte_ms)
}

/// Stops the present speech, unless it is the disclosure.
pub fn stop_speech(call: &mut State) {
    if call.speech.is_some() && !discloses(call) {
        call.fx.push(Effect::StopSpeaking);
    }
}

/// Says the disclosure before the user's last words are answered. Returns false if it was said already.
pub fn discloses_before_answer(call: &mut State) -> bool {
    if !must_disclose(call) {
        return false;
    }
    call.user.unanswered = true;
    call.phase = Phase::Speaking;
    disclose(call, None)
}

/// Records that all of the disclosure was heard, if this is the end of it.
pub fn disclosure_heard(call: &mut State, speech: &Speech, heard: &str, at_ms: u64) {
    if is_disclosure(call, speech.id) && tidy(heard) == tidy(&speech.text) {
        call.disclosing.over = true;
        let detail = json!({ "text": speech.text, "heard": true });
        call.record_at(DISCLOSURE, call.call_ms(at_ms), &detail);
    }
}

/// Says what follows the disclosure, if this speech was it. Returns false if there is nothing to say.
pub fn goes_on_after_disclosure(call: &mut State, id: SpeechId) -> bool {
    let speaks = matches!(
        call.phase,
        Phase::Greeting | Phase::Speaking | Phase::Closing { .. } | Phase::Machine(_)
    );
    if !speaks || !is_disclosure(call, id) {
        return false;
    }
    call.disclosing.over = true;
    call.disclosing.speech = None;
    let then = call.disclosing.then.take();
    then.map(|(text, protected)| speech::say_now(call, &text, protected))
        .is_some()
}
