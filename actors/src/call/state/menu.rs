//! Answers a menu. If it names a key that leads to a person, that key is pressed, and never another one: a
//! choice made for the callee could order, cancel or pay something.

use media::{amd, turn::endpointing::Utterance};
use serde_json::json;

use super::{Effect, Phase, State, screening::SCREENING_MS, who_answered::Machine};
use crate::call::CallTimer;

/// Time in milliseconds a menu may talk before the call ends, if it names no such key.
pub(super) const MENU_MS: u64 = 20_000;

/// Most keys pressed in one call.
const MOST_PRESSED: u8 = 2;

/// Bytes of a menu's words that are kept.
const MOST_BYTES: usize = 4_000;

/// Number of last words that may still change while a menu goes on talking.
const UNSETTLED_WORDS: usize = 2;

/// Words of a menu so far, and the number of keys pressed.
#[derive(Debug, Clone, Default)]
pub(super) struct Menu {
    words: String,
    pressed: u8,
}

impl State {
    pub(super) fn menu_answered(&mut self) {
        if let Phase::Machine(Machine::Menu | Machine::Pressed { .. }) = self.phase {
            return;
        }
        self.fall_silent();
        self.menu.words.clear();
        self.phase = Phase::Machine(Machine::Menu);
        self.fx.push(Effect::SetTimer(CallTimer::Machine, MENU_MS));
    }

    /// Handles the words so far of a menu that goes on talking.
    pub(super) fn menu_goes_on(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let settled = words.len().saturating_sub(UNSETTLED_WORDS);
        let settled = words.get(..settled).unwrap_or_default().join(" ");
        self.look_for_key(&settled);
    }

    pub(super) fn menu_said(&mut self, text: &str) {
        if !self.look_for_key(text) && self.menu.words.len() + text.len() <= MOST_BYTES {
            self.menu.words.push_str(text);
            self.menu.words.push_str(". ");
        }
    }

    /// Presses the key that leads to a person, if these words name it. Returns whether it was pressed.
    fn look_for_key(&mut self, text: &str) -> bool {
        let said = format!("{}{text}", self.menu.words);
        let key = amd::key_to_a_person(&said).filter(|_| self.menu.pressed < MOST_PRESSED);
        let Some(key) = key else { return false };
        self.menu.pressed += 1;
        let detail = json!({ "key": key.to_string() });
        self.record("pressed", &detail);
        self.press_in_menu(key.to_string());
        true
    }

    /// Presses keys, and waits for what they lead to.
    pub(super) fn press_in_menu(&mut self, keys: String) {
        self.menu.words.clear();
        self.fx.push(Effect::Press(keys));
        self.fx.push(Effect::SetTimer(CallTimer::Machine, SCREENING_MS));
        let since_ms = self.stream_ms(self.now_ms);
        self.phase = Phase::Machine(Machine::Pressed { since_ms });
        if !self.user.speaking {
            self.wait_to_be_connected();
        }
    }

    /// Handles words after a key was pressed: the menu's, another menu's, or a person's.
    pub(super) fn said_after_key(&mut self, said: &Utterance, since_ms: u64) {
        let text = &said.text;
        let waits = said.started_ms < since_ms || text.trim().is_empty() || amd::asks_to_wait(text);
        if waits || amd::announces_somebody(text) {
            self.wait_to_be_connected();
        } else if amd::names_keys(text) {
            if !self.look_for_key(text) {
                self.wait_to_be_connected();
            }
        } else {
            self.person_came();
        }
    }
}
