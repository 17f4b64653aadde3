//! A company's menu. It names digits and accepts one that is pressed or spoken; otherwise it repeats the menu
//! twice and hangs up. A person answers behind one of the digits, nobody behind the others.

use crate::exchange::persona::{
    act::{Act, Behaviour, Sense, Words},
    cooperative::Cooperative,
    person::Person,
};

const BEGINS_AFTER_MS: u64 = 600;
/// Time from the end of the menu to its repetition.
const WAITS_MS: u64 = 4_000;
/// Number of times the menu is recited.
const TIMES: u32 = 3;
/// Time from "one moment" to the person's hello.
const CONNECTS_MS: u64 = 2_000;
const MENU: &str =
    "Thank you for calling Northwind. For sales, press 1. For service, press 2. To speak to somebody, press 0.";
const DEPARTMENTS: [&str; 6] = ["1", "one", "sales", "2", "two", "service"];
const SOMEBODY: [&str; 3] = ["0", "zero", "somebody"];
const MACHINE: &str = "menu";

/// Choice of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Department,
    Somebody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { at_ms: u64 },
    Reciting,
    Leaving,
    Announcing,
    Connecting { at_ms: u64 },
    Connected,
}

pub(crate) struct Ivr {
    person: Person,
    state: State,
    recited: u32,
    choice: Option<Choice>,
    inner: Cooperative,
}

impl Ivr {
    pub(crate) fn new(person: Person) -> Self {
        let at_ms = BEGINS_AFTER_MS;
        Self {
            person,
            state: State::Waiting { at_ms },
            recited: 0,
            choice: None,
            inner: Cooperative::new(person),
        }
    }

    fn say(&mut self, state: State, text: &str) -> Option<Act> {
        self.state = state;
        Some(Act::Speak(Words {
            voice: Some(MACHINE.to_owned()),
            ..Words::from(text.to_owned())
        }))
    }

    /// Accepts a choice. A choice made during the menu does not stop it and is followed at its end.
    fn chosen(&mut self, choice: Choice) -> Option<Act> {
        self.choice = Some(choice);
        match (self.state, choice) {
            (State::Reciting, _) => None,
            (_, Choice::Department) => self.say(State::Leaving, "Nobody is available just now. Goodbye."),
            (_, Choice::Somebody) => self.say(State::Announcing, "One moment, please."),
        }
    }

    fn connect(&mut self, now_ms: u64) -> Option<Act> {
        self.state = State::Connected;
        self.inner = Cooperative::joining(self.person, now_ms, "", false);
        self.inner.has_begun_to_speak();
        Some(Act::Say(format!("Northwind, {} speaking.", self.person.first_name())))
    }

    fn tick(&mut self) -> Option<Act> {
        if let Some(choice) = self.choice {
            return self.chosen(choice);
        }
        if self.recited == TIMES {
            return self.say(State::Leaving, "We did not get your choice. Goodbye.");
        }
        self.recited += 1;
        self.say(State::Reciting, MENU)
    }
}

/// Returns the choice in a caller's words.
fn spoken_choice(words: &str) -> Option<Choice> {
    let words = words.to_lowercase();
    let has = |names: &[&str]| {
        words
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| names.contains(&word))
    };
    match (has(&SOMEBODY), has(&DEPARTMENTS)) {
        (true, _) => Some(Choice::Somebody),
        (false, true) => Some(Choice::Department),
        (false, false) => None,
    }
}

fn pressed_choice(key: char) -> Option<Choice> {
    match key {
        '0' => Some(Choice::Somebody),
        '1' | '2' => Some(Choice::Department),
        _ => None,
    }
}

impl Behaviour for Ivr {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        let choice = match sense {
            Sense::AgentSaid(words) => spoken_choice(words),
            Sense::Key(key) => pressed_choice(key),
            _ => None,
        };
        match (self.state, sense, choice) {
            (State::Connected, ..) => self.inner.sense(now_ms, sense),
            (State::Reciting | State::Waiting { .. }, _, Some(choice)) if self.recited > 0 => self.chosen(choice),
            (State::Waiting { at_ms }, Sense::Tick, _) if now_ms >= at_ms => self.tick(),
            (State::Reciting, Sense::Spoken, _) => {
                let at_ms = now_ms + if self.choice.is_some() { 0 } else { WAITS_MS };
                self.state = State::Waiting { at_ms };
                None
            }
            (State::Announcing, Sense::Spoken, _) => {
                let at_ms = now_ms + CONNECTS_MS;
                self.state = State::Connecting { at_ms };
                None
            }
            (State::Connecting { at_ms }, Sense::Tick, _) if now_ms >= at_ms => self.connect(now_ms),
            (State::Leaving, Sense::Spoken, _) => Some(Act::HangUp),
            _ => None,
        }
    }

    fn takes_keys(&self) -> bool {
        self.state != State::Connected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ivr() -> Ivr {
        Ivr::new(Person::new("+15551234561", 7))
    }

    fn next(behaviour: &mut Ivr, from_ms: u64) -> (u64, String) {
        let acts = |now: u64| match behaviour.sense(now, Sense::Tick) {
            Some(Act::Speak(words)) => Some((now, words.text())),
            Some(Act::Say(text)) => Some((now, text)),
            _ => None,
        };
        (from_ms..from_ms + 20_000).step_by(20).find_map(acts).unwrap()
    }

    #[test]
    fn says_its_menu_three_times_and_hangs_up() {
        let mut behaviour = ivr();
        let mut now = 0;
        for _ in 0..TIMES {
            let (at, text) = next(&mut behaviour, now);
            assert_eq!(text, MENU);
            now = at + 6_000;
            behaviour.sense(now, Sense::Spoken);
            behaviour.sense(now + 1_000, Sense::AgentSaid("Which day suits you?"));
        }
        let (at, text) = next(&mut behaviour, now);
        assert!(text.ends_with("Goodbye."));
        assert_eq!(behaviour.sense(at + 2_000, Sense::Spoken), Some(Act::HangUp));
    }

    #[test]
    fn nobody_is_behind_a_department_that_is_spoken_or_pressed() {
        for choice in [Sense::AgentSaid("Service."), Sense::Key('1')] {
            let mut behaviour = ivr();
            let (at, _) = next(&mut behaviour, 0);
            behaviour.sense(at + 6_000, Sense::Spoken);
            let Some(Act::Speak(words)) = behaviour.sense(at + 7_000, choice) else {
                panic!("{choice:?}")
            };
            assert_eq!(words.text(), "Nobody is available just now. Goodbye.");
        }
    }

    #[test]
    fn a_person_comes_when_the_key_was_pressed_even_while_the_menu_talks() {
        let mut behaviour = ivr();
        let (at, _) = next(&mut behaviour, 0);
        assert_eq!(behaviour.sense(at + 3_000, Sense::Key('9')), None);
        assert_eq!(behaviour.sense(at + 4_000, Sense::Key('0')), None);
        behaviour.sense(at + 7_000, Sense::Spoken);
        let (at, text) = next(&mut behaviour, at + 7_000);
        assert_eq!(text, "One moment, please.");
        behaviour.sense(at + 1_000, Sense::Spoken);
        let (_, text) = next(&mut behaviour, at + 1_000);
        assert!(text.starts_with("Northwind, ") && !behaviour.takes_keys(), "{text}");
    }
}
