//! Says hello within the first 1.5 s, just as the agent wants to greet, and cooperates after that. Half of these
//! people say hello at once. The others wait until the agent begins, at most 1.5 s.

use super::{
    act::{Act, Behaviour, Sense},
    cooperative::Cooperative,
    person::Person,
};

/// Longest wait for the agent.
const PATIENCE_MS: u64 = 1_500;
/// Takes about a second and a half.
const AT_ONCE: &str = "Hello, good morning?";
const OVER: &str = "Hello?";

pub(super) struct HelloFirst {
    inner: Cooperative,
    at_once: bool,
    said_hello: bool,
}

impl HelloFirst {
    pub(super) fn new(person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            at_once: person.choice("hello first", 2) == 0,
            said_hello: false,
        }
    }

    fn hello(&mut self, text: &str) -> Option<Act> {
        self.said_hello = true;
        self.inner.has_begun_to_speak();
        Some(Act::Say(text.to_owned()))
    }
}

impl Behaviour for HelloFirst {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match sense {
            _ if self.said_hello => self.inner.sense(now_ms, sense),
            Sense::Tick if self.at_once || now_ms >= PATIENCE_MS => self.hello(AT_ONCE),
            Sense::AgentStarted => self.hello(OVER),
            Sense::Tick | Sense::AgentSaying { .. } | Sense::AgentSaid(_) | Sense::Key(_) | Sense::Spoken => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(at_once: bool) -> HelloFirst {
        let people = (0..100).map(|seed| HelloFirst::new(Person::new("+15551234561", seed)));
        people
            .into_iter()
            .find(|behaviour| behaviour.at_once == at_once)
            .unwrap()
    }

    #[test]
    fn one_half_talks_at_once_and_the_other_over_the_greeting() {
        let mut first = behaviour(true);
        assert_eq!(first.sense(20, Sense::Tick), Some(Act::Say(AT_ONCE.into())));
        let mut second = behaviour(false);
        assert_eq!(second.sense(1_200, Sense::Tick), None);
        assert_eq!(second.sense(1_220, Sense::AgentStarted), Some(Act::Say(OVER.into())));
        assert_eq!(second.sense(1_900, Sense::Spoken), None);
        second.sense(5_000, Sense::AgentSaid("Hello Maria. What is your name?"));
        let reply = (5_000..7_000).find_map(|now| second.sense(now, Sense::Tick));
        assert!(matches!(reply, Some(Act::Say(text)) if text.starts_with("My name is")));
    }

    #[test]
    fn an_agent_that_waits_is_spoken_to() {
        let mut behaviour = behaviour(false);
        assert_eq!(behaviour.sense(1_500, Sense::Tick), Some(Act::Say(AT_ONCE.into())));
    }
}
