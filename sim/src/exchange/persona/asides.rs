//! Cooperates, and makes a sound while the agent talks without wanting to stop it: "mm-hm", or a cough.

use super::{
    act::{Act, Behaviour, Sense, Sound, Words},
    cooperative::Cooperative,
    person::Person,
};

/// Earliest moment within a speech of the agent.
const AFTER_MS: u64 = 900;
/// Longest delay after that moment.
const LATER_BY_MS: usize = 600;
/// Time to the next aside, if the agent still talks.
const AGAIN_AFTER_MS: u64 = 3_000;
/// Number of speeches per cough.
const COUGH_EVERY: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agrees,
    Coughs,
}

pub(super) struct Asides {
    inner: Cooperative,
    person: Person,
    kind: Kind,
    speeches: usize,
    next_ms: Option<u64>,
    /// Whether an aside is being sent.
    busy: bool,
}

impl Asides {
    pub(super) fn agreeing(person: Person) -> Self {
        Self::new(Kind::Agrees, person)
    }

    pub(super) fn coughing(person: Person) -> Self {
        Self::new(Kind::Coughs, person)
    }

    fn new(kind: Kind, person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            person,
            kind,
            speeches: 0,
            next_ms: None,
            busy: false,
        }
    }

    fn agent_started(&mut self, now_ms: u64) {
        self.speeches += 1;
        let wants = match self.kind {
            Kind::Agrees => true,
            Kind::Coughs => self.speeches.is_multiple_of(COUGH_EVERY),
        };
        let later = self.person.choice(&format!("aside {}", self.speeches), LATER_BY_MS);
        self.next_ms = wants.then_some(now_ms + AFTER_MS + later as u64);
    }

    fn aside(&mut self, now_ms: u64) -> Act {
        self.busy = true;
        self.next_ms = match self.kind {
            Kind::Agrees => Some(now_ms + AGAIN_AFTER_MS),
            Kind::Coughs => None,
        };
        match self.kind {
            Kind::Coughs => Act::Sound(Sound::Cough),
            Kind::Agrees => {
                let text = self.person.pick("agrees", &["Mm-hm.", "Uh-huh."]);
                Act::Speak(Words {
                    aside: true,
                    ..Words::from(text.to_owned())
                })
            }
        }
    }
}

impl Behaviour for Asides {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match sense {
            Sense::AgentStarted => self.agent_started(now_ms),
            Sense::AgentSaid(_) => self.next_ms = None,
            // These words were not those of the inner behaviour.
            Sense::Spoken if std::mem::take(&mut self.busy) => return None,
            Sense::Tick if self.busy => return None,
            Sense::Tick if !self.inner.is_speaking() && self.next_ms.is_some_and(|at| now_ms >= at) => {
                return Some(self.aside(now_ms));
            }
            Sense::Tick | Sense::AgentSaying { .. } | Sense::Key(_) | Sense::Spoken => {}
        }
        self.inner.sense(now_ms, sense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(behaviour: &mut Asides, from_ms: u64, to_ms: u64) -> Option<(u64, Act)> {
        (from_ms..to_ms)
            .step_by(20)
            .find_map(|now| behaviour.sense(now, Sense::Tick).map(|act| (now, act)))
    }

    #[test]
    fn agrees_while_the_agent_talks_and_answers_when_it_has_finished() {
        let mut behaviour = Asides::agreeing(Person::new("+15551234561", 7));
        behaviour.sense(100, Sense::AgentStarted);
        let Some((at, Act::Speak(words))) = next(&mut behaviour, 100, 3_000) else {
            panic!("says nothing");
        };
        assert!((1_000..1_600).contains(&at) && words.aside, "{at} {words:?}");
        assert_eq!(next(&mut behaviour, at + 20, at + 700), None);
        assert_eq!(behaviour.sense(at + 700, Sense::Spoken), None);
        assert!(
            matches!(next(&mut behaviour, at + 720, at + 3_100), Some((again, Act::Speak(_))) if again >= at + 3_000)
        );
        behaviour.sense(at + 4_000, Sense::Spoken);
        behaviour.sense(at + 5_000, Sense::AgentSaid("What is your name?"));
        let Some((_, Act::Say(reply))) = next(&mut behaviour, at + 5_000, at + 7_000) else {
            panic!("no reply");
        };
        assert!(reply.starts_with("My name is"), "{reply}");
    }

    #[test]
    fn coughs_into_every_second_speech() {
        let mut behaviour = Asides::coughing(Person::new("+15551234561", 7));
        behaviour.sense(100, Sense::AgentStarted);
        assert_eq!(next(&mut behaviour, 100, 4_000), None);
        behaviour.sense(4_000, Sense::AgentSaid("Good morning."));
        behaviour.sense(4_200, Sense::AgentStarted);
        assert!(matches!(
            next(&mut behaviour, 4_200, 6_000),
            Some((_, Act::Sound(Sound::Cough)))
        ));
    }
}
