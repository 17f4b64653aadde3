//! Talks over the agent half a second into its second speech, once, and cooperates otherwise.

use super::{
    act::{Act, Behaviour, Sense},
    cooperative::Cooperative,
    person::Person,
};

/// Moment within the agent's speech at which it breaks in.
const AFTER_MS: u64 = 500;
/// The speech it breaks into, counted from 1.
const SPEECH: u32 = 2;

#[derive(Debug, Clone, Copy)]
enum State {
    Waiting {
        speeches: u32,
    },
    Impatient {
        at_ms: u64,
    },
    /// Talking over the agent: words heard meanwhile are half a sentence and get no answer.
    Over,
    Satisfied,
}

pub(super) struct Interrupts {
    inner: Cooperative,
    state: State,
}

impl Interrupts {
    pub(super) fn new(person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            state: State::Waiting { speeches: 0 },
        }
    }
}

impl Behaviour for Interrupts {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match (self.state, sense) {
            (State::Waiting { speeches }, Sense::AgentStarted)
                if speeches + 1 == SPEECH && !self.inner.is_speaking() =>
            {
                self.state = State::Impatient {
                    at_ms: now_ms + AFTER_MS,
                };
                self.inner.sense(now_ms, sense)
            }
            (State::Waiting { speeches }, Sense::AgentStarted) => {
                // A speech that begins during the callee's own words cannot be interrupted, so the next one counts.
                let counted = if self.inner.is_speaking() {
                    speeches
                } else {
                    speeches + 1
                };
                self.state = State::Waiting { speeches: counted };
                self.inner.sense(now_ms, sense)
            }
            // The speech was too short to interrupt; the next one will do.
            (State::Impatient { .. }, Sense::AgentSaid(_)) => {
                self.state = State::Waiting { speeches: SPEECH - 1 };
                self.inner.sense(now_ms, sense)
            }
            (State::Impatient { at_ms }, Sense::Tick) if now_ms >= at_ms => {
                self.state = State::Over;
                self.inner.has_begun_to_speak();
                Some(Act::Say("Sorry, wait a moment, could you say that again?".to_owned()))
            }
            (State::Over, Sense::AgentSaid(_)) => None,
            (State::Over, Sense::Spoken) => {
                self.state = State::Satisfied;
                self.inner.sense(now_ms, sense)
            }
            _ => self.inner.sense(now_ms, sense),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_in_once_half_a_second_into_the_second_speech() {
        let mut behaviour = Interrupts::new(Person::new("+15551234569", 0));
        behaviour.sense(0, Sense::AgentStarted);
        behaviour.sense(1_000, Sense::AgentSaid("Good morning."));
        behaviour.sense(1_200, Sense::AgentStarted);
        assert_eq!(behaviour.sense(1_680, Sense::Tick), None);
        let Some(Act::Say(over)) = behaviour.sense(1_700, Sense::Tick) else {
            panic!("did not break in");
        };
        assert!(over.starts_with("Sorry"));
        assert_eq!(behaviour.sense(2_300, Sense::AgentSaid("What is")), None);
        assert_eq!(behaviour.sense(5_000, Sense::Spoken), None);
        behaviour.sense(5_500, Sense::AgentStarted);
        behaviour.sense(7_500, Sense::AgentSaid("What is your name?"));
        let reply = (7_500..9_500).find_map(|now| behaviour.sense(now, Sense::Tick));
        let Some(Act::Say(reply)) = reply else {
            panic!("no reply");
        };
        assert!(reply.contains("name"), "{reply}");
    }
}
