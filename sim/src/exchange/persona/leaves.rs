//! Cooperates at first, and leaves in the middle of the agent's second speech: it hangs up, or its telephone dies.

use super::{
    act::{Act, Behaviour, Sense},
    cooperative::Cooperative,
    person::Person,
};

/// Time for which it listens to the agent's speech.
const LISTENS_MS: u64 = 700;

pub(super) struct Leaves {
    inner: Cooperative,
    speeches: u32,
    leaves_at_ms: Option<u64>,
    how: Act,
}

impl Leaves {
    pub(super) fn by_hanging_up(person: Person) -> Self {
        Self::by(Act::HangUp, person)
    }

    pub(super) fn by_dying(person: Person) -> Self {
        Self::by(Act::Drop, person)
    }

    fn by(how: Act, person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            speeches: 0,
            leaves_at_ms: None,
            how,
        }
    }
}

impl Behaviour for Leaves {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        if sense == Sense::AgentStarted {
            self.speeches += 1;
            if self.speeches == 2 {
                self.leaves_at_ms = Some(now_ms + LISTENS_MS);
            }
        }
        match self.leaves_at_ms {
            Some(at) if now_ms >= at => Some(self.how.clone()),
            Some(_) => None,
            None => self.inner.sense(now_ms, sense),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_gone_while_the_agent_talks() {
        let person = Person::new("+15551234561", 0);
        for (mut behaviour, act) in [
            (Leaves::by_hanging_up(person), Act::HangUp),
            (Leaves::by_dying(person), Act::Drop),
        ] {
            assert_eq!(behaviour.sense(100, Sense::AgentStarted), None);
            assert_eq!(behaviour.sense(1_000, Sense::AgentSaid("Good morning.")), None);
            assert_eq!(behaviour.sense(1_200, Sense::AgentStarted), None);
            assert_eq!(behaviour.sense(1_880, Sense::Tick), None);
            assert_eq!(behaviour.sense(1_900, Sense::Tick), Some(act));
        }
    }
}
