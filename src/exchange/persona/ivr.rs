//! A company's menu: names digits, takes one that is pressed or spoken, else says it all twice more and hangs up.

use super::{Act, Mind, Sense};

const BEGINS_AFTER_MS: u64 = 600;
/// From the end of the menu to its repetition.
const WAITS_MS: u64 = 4_000;
const TIMES: u32 = 3;
const MENU: &str = "Thank you for calling Northwind. For sales, press 1. For service, press 2.";
const CHOICES: [&str; 6] = ["1", "one", "sales", "2", "two", "service"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { at_ms: u64 },
    Reciting,
    Leaving,
}

pub(super) struct Ivr {
    state: State,
    recited: u32,
    chosen: bool,
}

impl Ivr {
    pub(super) fn new() -> Self {
        let at_ms = BEGINS_AFTER_MS;
        Self {
            state: State::Waiting { at_ms },
            recited: 0,
            chosen: false,
        }
    }

    fn say(&mut self, state: State, text: &str) -> Option<Act> {
        self.state = state;
        Some(Act::Say(text.to_owned()))
    }
}

/// Whether the caller named one of the options.
fn is_choice(words: &str) -> bool {
    let words = words.to_lowercase();
    words
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| CHOICES.contains(&word))
}

impl Mind for Ivr {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match (self.state, sense) {
            (State::Reciting | State::Waiting { .. }, Sense::AgentSaid(words))
                if self.recited > 0 && is_choice(words) =>
            {
                self.chosen = true;
                if self.state == State::Reciting {
                    return None;
                }
                self.say(State::Leaving, "Nobody is available just now. Goodbye.")
            }
            (State::Waiting { at_ms }, Sense::Tick) if now_ms >= at_ms => {
                if self.chosen {
                    return self.say(State::Leaving, "Nobody is available just now. Goodbye.");
                }
                if self.recited == TIMES {
                    return self.say(State::Leaving, "We did not get your choice. Goodbye.");
                }
                self.recited += 1;
                self.say(State::Reciting, MENU)
            }
            (State::Reciting, Sense::Spoken) => {
                let at_ms = now_ms + if self.chosen { 0 } else { WAITS_MS };
                self.state = State::Waiting { at_ms };
                None
            }
            (State::Leaving, Sense::Spoken) => Some(Act::HangUp),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(mind: &mut Ivr, from_ms: u64) -> (u64, Act) {
        (from_ms..from_ms + 20_000)
            .step_by(20)
            .find_map(|now| mind.sense(now, Sense::Tick).map(|act| (now, act)))
            .unwrap()
    }

    #[test]
    fn says_its_menu_three_times_and_hangs_up() {
        let mut mind = Ivr::new();
        let mut now = 0;
        for _ in 0..TIMES {
            let (at, act) = next(&mut mind, now);
            assert_eq!(act, Act::Say(MENU.into()));
            now = at + 6_000;
            mind.sense(now, Sense::Spoken);
            mind.sense(now + 1_000, Sense::AgentSaid("Which day suits you?"));
        }
        let (at, act) = next(&mut mind, now);
        assert!(matches!(act, Act::Say(text) if text.ends_with("Goodbye.")));
        assert_eq!(mind.sense(at + 2_000, Sense::Spoken), Some(Act::HangUp));
    }

    #[test]
    fn takes_an_option_that_is_spoken() {
        let mut mind = Ivr::new();
        let (at, _) = next(&mut mind, 0);
        mind.sense(at + 6_000, Sense::Spoken);
        let act = mind.sense(at + 7_000, Sense::AgentSaid("Service."));
        assert_eq!(act, Some(Act::Say("Nobody is available just now. Goodbye.".into())));
    }
}
