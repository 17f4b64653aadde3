//! Says hello, lets the agent talk, replies to each question, says goodbye after the agent's goodbye and
//! hangs up if the agent does not.

use super::{
    act::{Act, Behaviour, Sense},
    person::Person,
    reply,
};

/// Delay of the hello after picking up, unless the agent was first.
const HELLO_AFTER_MS: u64 = 500;
/// Shortest delay of a reply after the end of a question was noticed.
const THINKS_MS: u64 = 150;
/// Largest addition to this delay; it depends on the person.
const THINKS_UP_TO_MORE_MS: usize = 300;
/// Delay after a statement, because the agent probably goes on.
const WAITS_FOR_MORE_MS: u64 = 1_500;
/// After this long without a word from either side it asks whether anybody is there …
const WONDERS_AFTER_MS: u64 = 8_000;
/// … and hangs up at the third time.
const WONDERS_TIMES: u32 = 2;
/// Time for the agent to hang up after the goodbyes.
const LEAVES_AFTER_MS: u64 = 2_500;
/// It accepts the same question this often.
const SAME_QUESTION_TIMES: usize = 4;
/// Longest conversation.
const LONGEST_MS: u64 = 600_000;

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    PickedUp,
    Listening {
        since_ms: u64,
    },
    /// The agent talks; its earlier words are kept.
    Hearing,
    Replying {
        at_ms: u64,
    },
    Speaking {
        leaving: bool,
    },
    Leaving {
        at_ms: u64,
    },
    Gone,
}

pub(super) struct Cooperative {
    person: Person,
    state: State,
    /// Words of the agent since the last reply.
    heard: String,
    questions: Vec<String>,
    wondered: u32,
}

impl Cooperative {
    pub(super) fn new(person: Person) -> Self {
        Self {
            person,
            state: State::PickedUp,
            heard: String::new(),
            questions: Vec::new(),
            wondered: 0,
        }
    }

    /// Joins a call in which the agent has said `heard` since the callee's last words.
    pub(super) fn joining(person: Person, now_ms: u64, heard: &str, agent_talks: bool) -> Self {
        let mut joined = Self::new(person);
        joined.state = State::Listening { since_ms: now_ms };
        if !heard.is_empty() {
            joined.agent_said(now_ms, heard);
        }
        if agent_talks {
            joined.state = State::Hearing;
        }
        joined
    }

    /// Returns whether it is talking.
    pub(super) fn is_speaking(&self) -> bool {
        matches!(self.state, State::Speaking { .. })
    }

    /// Notes that something else made it talk.
    pub(super) fn has_begun_to_speak(&mut self) {
        self.heard.clear();
        self.state = State::Speaking { leaving: false };
    }

    fn say(&mut self, text: String, leaving: bool) -> Option<Act> {
        self.heard.clear();
        self.state = State::Speaking { leaving };
        Some(Act::Say(text))
    }

    fn tick(&mut self, now_ms: u64) -> Option<Act> {
        if now_ms >= LONGEST_MS {
            self.state = State::Gone;
            return Some(Act::HangUp);
        }
        match self.state {
            State::PickedUp if now_ms >= HELLO_AFTER_MS => {
                let hello = self
                    .person
                    .pick("hello", &["Hello?", "Hello, who is this?", "Yes, hello?"]);
                self.say(hello.to_owned(), false)
            }
            State::Listening { since_ms } if now_ms >= since_ms + WONDERS_AFTER_MS => {
                self.wondered += 1;
                if self.wondered > WONDERS_TIMES {
                    self.state = State::Gone;
                    return Some(Act::HangUp);
                }
                self.say("Hello? Are you still there?".to_owned(), false)
            }
            State::Replying { at_ms } if now_ms >= at_ms => self.reply(),
            State::Leaving { at_ms } if now_ms >= at_ms => {
                self.state = State::Gone;
                Some(Act::HangUp)
            }
            _ => None,
        }
    }

    fn reply(&mut self) -> Option<Act> {
        let heard = std::mem::take(&mut self.heard);
        if reply::is_goodbye(&heard) {
            return self.say("Thank you, goodbye.".to_owned(), true);
        }
        let question = reply::question(&heard).to_lowercase();
        let asked = self.questions.iter().filter(|before| **before == question).count() + 1;
        self.questions.push(question);
        if asked >= SAME_QUESTION_TIMES {
            return self.say("Sorry, I have to go now. Goodbye.".to_owned(), true);
        }
        let text = reply::to(&heard, self.person);
        self.say(text, false)
    }

    fn agent_said(&mut self, now_ms: u64, text: &str) {
        if !self.heard.is_empty() {
            self.heard.push(' ');
        }
        self.heard.push_str(text.trim());
        self.wondered = 0;
        match self.state {
            // Words heard during its own speech are answered after it.
            State::Speaking { .. } | State::Leaving { .. } | State::Gone => {}
            State::PickedUp | State::Listening { .. } | State::Hearing | State::Replying { .. } => {
                self.state = State::Replying {
                    at_ms: now_ms + self.pause_ms(),
                };
            }
        }
    }

    fn pause_ms(&self) -> u64 {
        let prompt = self.heard.trim_end().ends_with('?') || reply::is_goodbye(&self.heard);
        if prompt {
            THINKS_MS + self.person.choice(&self.heard, THINKS_UP_TO_MORE_MS) as u64
        } else {
            WAITS_FOR_MORE_MS
        }
    }
}

impl Behaviour for Cooperative {
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act> {
        match (sense, &self.state) {
            (Sense::Tick, _) => return self.tick(now_ms),
            (Sense::AgentStarted, State::PickedUp | State::Listening { .. } | State::Replying { .. }) => {
                self.state = State::Hearing;
            }
            // Words whose beginning was not noticed, or that came during its own speech.
            (Sense::AgentSaid(text), _) => self.agent_said(now_ms, text),
            (Sense::Spoken, State::Speaking { leaving: true }) => {
                self.state = State::Leaving {
                    at_ms: now_ms + LEAVES_AFTER_MS,
                };
            }
            (Sense::Spoken, State::Speaking { leaving: false }) if self.heard.is_empty() => {
                self.state = State::Listening { since_ms: now_ms };
            }
            (Sense::Spoken, State::Speaking { leaving: false }) => {
                self.state = State::Replying {
                    at_ms: now_ms + WAITS_FOR_MORE_MS,
                };
            }
            (Sense::AgentStarted | Sense::AgentSaying { .. } | Sense::Key(_) | Sense::Spoken, _) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person() -> Person {
        Person::new("+15551234561", 7)
    }

    /// Returns its next action and the time of it.
    fn next(behaviour: &mut Cooperative, from_ms: u64) -> (u64, Act) {
        (from_ms..from_ms + 60_000)
            .step_by(20)
            .find_map(|now| behaviour.sense(now, Sense::Tick).map(|act| (now, act)))
            .unwrap()
    }

    #[test]
    fn says_hello_replies_and_leaves_after_the_goodbyes() {
        let mut behaviour = Cooperative::new(person());
        let (at, hello) = next(&mut behaviour, 0);
        assert!(at == 500 && matches!(hello, Act::Say(_)));
        behaviour.sense(1_100, Sense::Spoken);
        behaviour.sense(1_500, Sense::AgentStarted);
        behaviour.sense(4_000, Sense::AgentSaid("Good morning. What is your name?"));
        let (at, reply) = next(&mut behaviour, 4_000);
        assert!((4_150..=4_500).contains(&at), "{at}");
        assert_eq!(
            reply,
            Act::Say(format!(
                "My name is {} {}.",
                person().first_name(),
                person().last_name()
            ))
        );
        behaviour.sense(6_000, Sense::Spoken);
        behaviour.sense(6_500, Sense::AgentStarted);
        behaviour.sense(8_000, Sense::AgentSaid("Thank you for your time. Goodbye!"));
        assert_eq!(next(&mut behaviour, 8_000).1, Act::Say("Thank you, goodbye.".into()));
        behaviour.sense(10_000, Sense::Spoken);
        assert_eq!(next(&mut behaviour, 10_000), (12_500, Act::HangUp));
    }

    #[test]
    fn an_agent_who_goes_on_after_a_statement_is_not_interrupted() {
        let mut behaviour = Cooperative::new(person());
        behaviour.sense(100, Sense::AgentStarted);
        behaviour.sense(2_000, Sense::AgentSaid("Great."));
        behaviour.sense(2_900, Sense::AgentStarted);
        assert_eq!(behaviour.sense(6_000, Sense::Tick), None);
        behaviour.sense(7_000, Sense::AgentSaid("How many seats do you need?"));
        let (_, act) = next(&mut behaviour, 7_000);
        assert!(matches!(act, Act::Say(_)));
    }

    #[test]
    fn a_question_asked_for_ever_is_answered_with_goodbye() {
        let mut behaviour = Cooperative::new(person());
        let mut now = 0;
        for times in 1..=SAME_QUESTION_TIMES {
            behaviour.sense(now, Sense::AgentStarted);
            behaviour.sense(now + 1_000, Sense::AgentSaid("What is your name?"));
            let (at, act) = next(&mut behaviour, now + 1_000);
            let Act::Say(text) = act else { panic!("{act:?}") };
            assert_eq!(
                text.contains("Goodbye"),
                times == SAME_QUESTION_TIMES,
                "{times}: {text}"
            );
            behaviour.sense(at + 1_000, Sense::Spoken);
            now = at + 2_000;
        }
    }

    #[test]
    fn silence_is_borne_for_half_a_minute() {
        let mut behaviour = Cooperative::new(person());
        let mut now = 0;
        let mut said = 0;
        loop {
            let (at, act) = next(&mut behaviour, now);
            now = at + 500;
            match act {
                Act::HangUp => break,
                _ => said += 1,
            }
            behaviour.sense(now, Sense::Spoken);
        }
        assert_eq!(said, 3);
        assert!((20_000..40_000).contains(&now), "{now}");
    }
}
