//! A mailbox: a greeting of about six seconds, a beep, a recording of at most thirty seconds.

use crate::exchange::persona::{
    act::{Act, Behaviour, Sense, Sound},
    person::Person,
};

/// Time from the answer to the greeting.
const GREETS_AFTER_MS: u64 = 400;
/// Longest recording.
const RECORDS_MS: u64 = 30_000;

#[derive(Debug, Clone, Copy)]
enum State {
    Waiting,
    Greeting,
    Beeping,
    Recording { until_ms: u64 },
}

pub(crate) struct Voicemail {
    person: Person,
    state: State,
}

impl Voicemail {
    pub(crate) fn new(person: Person) -> Self {
        Self {
            person,
            state: State::Waiting,
        }
    }
}

impl Behaviour for Voicemail {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        let (state, act) = match (self.state, sense) {
            (State::Waiting, Sense::Tick) if now_ms >= GREETS_AFTER_MS => {
                let name = self.person.first_name();
                let greeting =
                    format!("You have reached the voicemail of {name}. Please leave a message after the tone.");
                (State::Greeting, Some(Act::Say(greeting)))
            }
            (State::Greeting, Sense::Spoken) => (State::Beeping, Some(Act::Sound(Sound::Beep))),
            (State::Beeping, Sense::Spoken) => {
                let until_ms = now_ms + RECORDS_MS;
                (State::Recording { until_ms }, None)
            }
            (State::Recording { until_ms }, Sense::Tick) if now_ms >= until_ms => (self.state, Some(Act::HangUp)),
            (state, _) => (state, None),
        };
        self.state = state;
        act
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greets_beeps_records_and_hangs_up() {
        let mut behaviour = Voicemail::new(Person::new("+15551234568", 0));
        assert_eq!(behaviour.sense(0, Sense::Tick), None);
        let Some(Act::Say(greeting)) = behaviour.sense(400, Sense::Tick) else {
            panic!("no greeting");
        };
        assert!(
            (72..=92).contains(&greeting.len()),
            "about 6 s at 13 characters a second: {greeting}"
        );
        assert_eq!(behaviour.sense(6_400, Sense::Spoken), Some(Act::Sound(Sound::Beep)));
        assert_eq!(behaviour.sense(6_800, Sense::Spoken), None);
        assert_eq!(behaviour.sense(20_000, Sense::AgentSaid("Please call back.")), None);
        assert_eq!(behaviour.sense(36_799, Sense::Tick), None);
        assert_eq!(behaviour.sense(36_800, Sense::Tick), Some(Act::HangUp));
    }
}
