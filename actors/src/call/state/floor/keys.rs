//! Keys that the user presses. They are gathered until `#` or a pause, then taken as the user's words.

use media::turn::endpointing::Utterance;
use serde_json::json;

use crate::audio_stream::SpeechId;
use crate::call::CallTimer;
use crate::call::state::{Effect, Phase, State, talk, walking};

/// Time in milliseconds to wait for the next key.
const PAUSE_MS: u64 = 2_000;

/// Most keys of one entry, more than any number that people type.
const MOST_KEYS: usize = 64;

/// Keys that have not become words yet. Times are those of the stream.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    typed: String,
    started_ms: u64,
    last_ms: u64,
}

/// Handles a key. It interrupts the agent like voice does, but at once, since nobody presses a key by chance.
pub fn key_pressed(call: &mut State, key: char) {
    if !talk::in_conversation(call) && call.operator.is_none() {
        return;
    }
    talk::user_speaks(call);
    stop_for_key(call);
    let at_ms = call.stream_ms(call.now_ms);
    if call.keys.typed.is_empty() {
        call.keys.started_ms = at_ms;
    }
    call.keys.last_ms = at_ms;
    let done = key == '#';
    if !done || call.keys.typed.is_empty() {
        call.keys.typed.push(key);
    }
    if done || call.keys.typed.len() >= MOST_KEYS {
        keys_over(call);
    } else {
        call.set_timer(CallTimer::Keys, PAUSE_MS);
    }
}

fn stop_for_key(call: &mut State) {
    if !call.leg.barge_in || !matches!(call.phase, Phase::Greeting | Phase::Speaking) {
        return;
    }
    // The user gets the turn once the stream has reported how much of the speech was heard.
    if let Some(speech) = call.speech.as_mut().filter(|speech| !speech.protected && !speech.cut) {
        speech.cut = true;
        call.fx.push(Effect::StopSpeaking);
    }
}

/// Returns whether this speech was stopped by a key and the report of what was heard is still to come.
pub fn is_cut(call: &State, id: SpeechId) -> bool {
    call.speech.as_ref().is_some_and(|speech| speech.id == id && speech.cut)
}

/// Answers what was typed once the speech that a key stopped is over, unless the user is still typing.
pub fn answer_keys(call: &mut State, for_key: bool) {
    if for_key && call.phase == Phase::Listening && call.user.unanswered && call.keys.typed.is_empty() {
        call.user.speaking = false;
        walking::answer_words(call);
    }
}

/// Takes the typed keys as the user's words.
pub fn keys_over(call: &mut State) {
    if let Some(typed) = typed(call) {
        talk::on_utterance(call, &typed, true);
    }
}

/// Keeps the typed keys like other words when the call or its line is over.
pub fn keep_keys(call: &mut State) {
    if let Some(typed) = typed(call) {
        talk::keep_words(call, &typed);
    }
}

fn typed(call: &mut State) -> Option<Utterance> {
    let keys = std::mem::take(&mut call.keys);
    if keys.typed.is_empty() {
        return None;
    }
    call.stop_timer(CallTimer::Keys);
    let detail = json!({ "keys": keys.typed });
    call.record_at("keys", call.call_ms(keys.started_ms), &detail);
    Some(Utterance {
        text: keys.typed,
        damaged: false,
        started_ms: keys.started_ms,
        ended_ms: keys.last_ms,
        final_ms: None,
    })
}
