//! A telephone that screens its calls. An assistant asks who is calling and why, and connects any caller that
//! answers. Then the callee, in another voice, says hello and cooperates.

use crate::exchange::persona::{
    act::{Act, Behaviour, Sense, Words},
    cooperative::Cooperative,
    person::Person,
};

const ASKS_AFTER_MS: u64 = 400;
/// It asks again after this long without an answer …
const WAITS_MS: u64 = 8_000;
/// … and gives up after this many times.
const TIMES: u32 = 2;
/// Time from "one moment" to the callee's hello.
const CONNECTS_MS: u64 = 2_000;
/// Longest screening.
const LONGEST_MS: u64 = 120_000;
const ASSISTANT: &str = "screening assistant";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { ask_at_ms: u64 },
    Asking,
    Refusing,
    Announcing,
    Connecting { at_ms: u64 },
    Connected,
}

pub(crate) struct Screening {
    person: Person,
    state: State,
    asked: u32,
    /// Whether the caller talks.
    hears: bool,
    inner: Cooperative,
}

impl Screening {
    pub(crate) fn new(person: Person) -> Self {
        Self {
            person,
            state: State::Waiting {
                ask_at_ms: ASKS_AFTER_MS,
            },
            asked: 0,
            hears: false,
            inner: Cooperative::new(person),
        }
    }

    fn ask(&mut self) -> Option<Act> {
        if self.asked == TIMES {
            self.state = State::Refusing;
            return assistant("Goodbye.");
        }
        self.asked += 1;
        self.state = State::Asking;
        let name = self.person.first_name();
        assistant(&format!(
            "Hi, please say your name and why you are calling, and I will see if {name} is available."
        ))
    }

    fn connect(&mut self, now_ms: u64) -> Option<Act> {
        self.state = State::Connected;
        let name = self.person.first_name();
        self.inner = Cooperative::joining(self.person, now_ms, "", false);
        self.inner.has_begun_to_speak();
        Some(Act::Say(format!("Hello, this is {name}.")))
    }
}

fn assistant(text: &str) -> Option<Act> {
    Some(Act::Speak(Words {
        voice: Some(ASSISTANT.to_owned()),
        ..Words::from(text.to_owned())
    }))
}

impl Behaviour for Screening {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match sense {
            Sense::AgentStarted => self.hears = true,
            Sense::AgentSaid(_) => self.hears = false,
            Sense::Tick | Sense::AgentSaying { .. } | Sense::Key(_) | Sense::Spoken => {}
        }
        match (self.state, sense) {
            (State::Connected, _) => self.inner.sense(now_ms, sense),
            (_, Sense::Tick) if now_ms >= LONGEST_MS => Some(Act::HangUp),
            (State::Waiting { ask_at_ms }, Sense::Tick) if now_ms >= ask_at_ms && !self.hears => self.ask(),
            (State::Waiting { .. }, Sense::AgentSaid(words)) if self.asked > 0 && !words.is_empty() => {
                self.state = State::Announcing;
                assistant("Thank you. One moment, please.")
            }
            (State::Asking, Sense::Spoken) => {
                let ask_at_ms = now_ms + WAITS_MS;
                self.state = State::Waiting { ask_at_ms };
                None
            }
            (State::Announcing, Sense::Spoken) => {
                let at_ms = now_ms + CONNECTS_MS;
                self.state = State::Connecting { at_ms };
                None
            }
            (State::Connecting { at_ms }, Sense::Tick) if now_ms >= at_ms && !self.hears => self.connect(now_ms),
            (State::Refusing, Sense::Spoken) => Some(Act::HangUp),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(behaviour: &mut Screening, from_ms: u64) -> (u64, Act) {
        (from_ms..from_ms + 20_000)
            .step_by(20)
            .find_map(|now| behaviour.sense(now, Sense::Tick).map(|act| (now, act)))
            .unwrap()
    }

    #[test]
    fn an_assistant_asks_and_another_voice_says_hello() {
        let mut behaviour = Screening::new(Person::new("+15551234561", 7));
        let (at, Act::Speak(asks)) = next(&mut behaviour, 0) else {
            panic!("asks nothing");
        };
        assert!(at == 400 && asks.text().contains("why you are calling") && asks.voice.is_some());
        behaviour.sense(7_000, Sense::Spoken);
        behaviour.sense(7_500, Sense::AgentStarted);
        let Some(Act::Speak(thanks)) = behaviour.sense(10_000, Sense::AgentSaid("This is Ava, about a visit.")) else {
            panic!("does not connect");
        };
        assert!(thanks.text().contains("One moment"));
        behaviour.sense(12_000, Sense::Spoken);
        let (at, hello) = next(&mut behaviour, 12_000);
        assert_eq!(at, 14_000);
        assert!(matches!(hello, Act::Say(text) if text.starts_with("Hello, this is")));
        behaviour.sense(15_000, Sense::Spoken);
        behaviour.sense(15_500, Sense::AgentStarted);
        behaviour.sense(18_000, Sense::AgentSaid("What is your name?"));
        assert!(matches!(next(&mut behaviour, 18_000).1, Act::Say(text) if text.starts_with("My name is")));
    }

    #[test]
    fn a_caller_who_says_nothing_is_asked_twice_and_let_go() {
        let mut behaviour = Screening::new(Person::new("+15551234561", 7));
        let mut now = 0;
        for _ in 0..TIMES {
            now = next(&mut behaviour, now).0 + 6_000;
            behaviour.sense(now, Sense::Spoken);
        }
        let (at, Act::Speak(bye)) = next(&mut behaviour, now) else {
            panic!("no goodbye");
        };
        assert_eq!(bye.text(), "Goodbye.");
        assert_eq!(behaviour.sense(at + 700, Sense::Spoken), Some(Act::HangUp));
    }
}
