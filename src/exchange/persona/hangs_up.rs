//! Cooperates at first, and hangs up in the middle of the agent's second speech.

use super::{Act, Mind, Person, Sense, cooperative::Cooperative};

/// How long the agent may talk.
const LISTENS_MS: u64 = 700;

pub(super) struct HangsUp {
    inner: Cooperative,
    speeches: u32,
    leaves_at_ms: Option<u64>,
}

impl HangsUp {
    pub(super) fn new(person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            speeches: 0,
            leaves_at_ms: None,
        }
    }
}

impl Mind for HangsUp {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        if sense == Sense::AgentStarted {
            self.speeches += 1;
            if self.speeches == 2 {
                self.leaves_at_ms = Some(now_ms + LISTENS_MS);
            }
        }
        match self.leaves_at_ms {
            Some(at) if now_ms >= at => Some(Act::HangUp),
            Some(_) => None,
            None => self.inner.sense(now_ms, sense),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hangs_up_while_the_agent_talks() {
        let mut mind = HangsUp::new(Person::new("+15551234561", 0));
        assert_eq!(mind.sense(100, Sense::AgentStarted), None);
        assert_eq!(mind.sense(1_000, Sense::AgentSaid("Good morning.")), None);
        assert_eq!(mind.sense(1_200, Sense::AgentStarted), None);
        assert_eq!(mind.sense(1_880, Sense::Tick), None);
        assert_eq!(mind.sense(1_900, Sense::Tick), Some(Act::HangUp));
    }
}
