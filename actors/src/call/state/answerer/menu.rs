//! Menus, and assistants that screen calls. If a menu names a key that leads to a person, that key is pressed, and never
//! another one: a choice made for the callee could order, cancel or pay something. An assistant hears who calls and why.

use media::{amd, turn::endpointing::Utterance};
use serde_json::json;

use crate::call::CallTimer;
use crate::call::state::{Effect, Machine, Phase, State, disclosing, speech, who_answered};

/// Time in milliseconds a menu may talk before the call ends, if it names no such key.
pub const MENU_MS: u64 = 20_000;

/// Most keys pressed in one call.
const MOST_PRESSED: u8 = 2;

/// Bytes of a menu's words that are kept.
const MOST_BYTES: usize = 4_000;

/// Number of last words that may still change while a menu goes on talking.
const UNSETTLED_WORDS: usize = 2;

/// Longest duration of the screening in milliseconds.
pub const SCREENING_MS: u64 = 60_000;

/// Silence in milliseconds after which somebody is assumed to be on the line, waiting to be spoken to.
const CONNECTED_MS: u64 = 10_000;

/// Most introductions in one call.
const MOST_TOLD: u8 = 2;

/// Words of a menu so far, and the number of keys pressed.
#[derive(Debug, Clone, Default)]
pub struct Menu {
    words: String,
    pressed: u8,
}

pub fn menu_answered(call: &mut State) {
    if let Phase::Machine(Machine::Menu | Machine::Pressed { .. }) = call.phase {
        return;
    }
    who_answered::fall_silent(call);
    call.answerer.menu.words.clear();
    call.phase = Phase::Machine(Machine::Menu);
    call.set_timer(CallTimer::Machine, MENU_MS);
}

/// Handles the words so far of a menu that goes on talking.
pub fn menu_goes_on(call: &mut State, text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let settled = words.len().saturating_sub(UNSETTLED_WORDS);
    let settled = words.get(..settled).unwrap_or_default().join(" ");
    look_for_key(call, &settled);
}

pub fn menu_said(call: &mut State, text: &str) {
    if !look_for_key(call, text) && call.answerer.menu.words.len() + text.len() <= MOST_BYTES {
        call.answerer.menu.words.push_str(text);
        call.answerer.menu.words.push_str(". ");
    }
}

/// Presses the key that leads to a person, if these words name it. Returns whether it was pressed.
fn look_for_key(call: &mut State, text: &str) -> bool {
    let said = format!("{}{text}", call.answerer.menu.words);
    let key = amd::key_to_a_person(&said).filter(|_| call.answerer.menu.pressed < MOST_PRESSED);
    let Some(key) = key else { return false };
    call.answerer.menu.pressed += 1;
    call.record("pressed", &json!({ "key": key.to_string() }));
    press_in_menu(call, key.to_string());
    true
}

/// Presses keys, and waits for what they lead to.
pub fn press_in_menu(call: &mut State, keys: String) {
    call.answerer.menu.words.clear();
    call.fx.push(Effect::Press(keys));
    call.set_timer(CallTimer::Machine, SCREENING_MS);
    let since_ms = call.stream_ms(call.now_ms);
    call.phase = Phase::Machine(Machine::Pressed { since_ms });
    if !call.user.speaking {
        wait_to_be_connected(call);
    }
}

/// Handles words after a key was pressed: the menu's, another menu's, or a person's.
pub fn said_after_key(call: &mut State, said: &Utterance, since_ms: u64) {
    let text = &said.text;
    let waits = said.started_ms < since_ms || text.trim().is_empty() || amd::asks_to_wait(text);
    if waits || amd::announces_somebody(text) {
        wait_to_be_connected(call);
    } else if amd::names_keys(text) {
        if !look_for_key(call, text) {
            wait_to_be_connected(call);
        }
    } else {
        who_answered::person_came(call);
    }
}

pub fn assistant_answered(call: &mut State) {
    who_answered::fall_silent(call);
    call.set_timer(CallTimer::Machine, SCREENING_MS);
    introduce(call, 0);
}

fn introduce(call: &mut State, told: u8) {
    call.stop_timer(CallTimer::Quiet);
    call.phase = Phase::Machine(Machine::Screening {
        told: told + 1,
        since_ms: call.stream_ms(call.now_ms),
    });
    if told == 0 {
        disclosing::disclose_anew(call);
    }
    let introduction = call.rules.introduction.clone();
    speech::say_all(call, &introduction, true);
}

/// Handles words of the assistant or of somebody who has come to the telephone.
pub fn assistant_said(call: &mut State, text: &str, told: u8) {
    if text.trim().is_empty() || amd::asks_to_wait(text) {
        wait_to_be_connected(call);
    } else if amd::asks_who_calls(text) && !amd::says_hello(text) && told < MOST_TOLD {
        introduce(call, told);
    } else {
        who_answered::person_came(call);
    }
}

pub fn wait_to_be_connected(call: &mut State) {
    if call.speech.is_none() {
        call.set_timer(CallTimer::Quiet, CONNECTED_MS);
    }
}
