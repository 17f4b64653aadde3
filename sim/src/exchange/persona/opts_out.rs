//! Asks to be left alone: says so instead of any answer, says goodbye, and hangs up on an agent that goes on.

use super::{
    act::{Act, Behaviour, Sense},
    cooperative::Cooperative,
    person::Person,
};

const WANTS: &str = "Please don't call me again.";
/// It says so this often, and then it hangs up.
const TIMES: u32 = 2;

pub(super) struct OptsOut {
    inner: Cooperative,
    said: u32,
}

impl OptsOut {
    pub(super) fn new(person: Person) -> Self {
        Self {
            inner: Cooperative::new(person),
            said: 0,
        }
    }
}

impl Behaviour for OptsOut {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        let act = self.inner.sense(now_ms, sense)?;
        let Act::Say(text) = &act else {
            return Some(act);
        };
        let low = text.to_lowercase();
        if low.contains("hello") || low.contains("goodbye") {
            return Some(act);
        }
        self.said += 1;
        Some(if self.said > TIMES {
            Act::HangUp
        } else {
            Act::Say(WANTS.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns its answer to each speech of the agent.
    fn answers(speeches: &[&str]) -> Vec<Act> {
        let mut behaviour = OptsOut::new(Person::new("+15551234561", 7));
        let mut now = 1_000;
        let mut hear = |text: &&str| {
            behaviour.sense(now, Sense::AgentStarted);
            behaviour.sense(now + 1_000, Sense::AgentSaid(text));
            let act = (now + 1_000..now + 4_000).find_map(|now| behaviour.sense(now, Sense::Tick));
            now += 6_000;
            behaviour.sense(now, Sense::Spoken);
            act.unwrap()
        };
        speeches.iter().map(&mut hear).collect()
    }

    #[test]
    fn says_what_it_wants_and_takes_its_leave() {
        let heard = ["Hello Maria. Which day suits you?", "I will not. Goodbye!"];
        let bye = Act::Say("Thank you, goodbye.".into());
        assert_eq!(answers(&heard), [Act::Say(WANTS.into()), bye]);
    }

    #[test]
    fn hangs_up_on_an_agent_that_goes_on() {
        let heard = ["Which day suits you?", "Which week?", "Which year?"];
        let wants = Act::Say(WANTS.into());
        assert_eq!(answers(&heard), [wants.clone(), wants, Act::HangUp]);
    }
}
