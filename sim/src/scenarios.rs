//! Scripted conversations as data: how the agent is set, what the phone does, what must come out. Tests run them under
//! a paused clock, `ringback-bench turns` in real time.

mod backchannels;
mod barge_in;
mod echo;
mod endings;
mod noise;
mod observed;
mod pauses;
mod score;
mod setup;
mod silence;
mod spelling;
mod talk_over;
mod wire;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::{
    observed::{Observed, Span},
    score::{MISMATCH_WORDS, RESUMES_WITHIN_MS, Score, Verdict},
    setup::Setup,
};
use crate::exchange::{Script, Step};

/// One scripted conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Unique; the phone's script has this name too.
    pub name: &'static str,
    /// How the agent is set.
    pub setup: Setup,
    /// What the phone does.
    pub script: Script,
    /// What comes out when every word is recognised at once: the transcript's lines and what happened to playout, in
    /// order. `agent:` is a speech heard whole, `agent (cut):` the words heard of one that was dropped, `user:` a turn
    /// as transcribed; `paused` and `resumed` are what a false alarm does to playout; last how the call ended.
    pub expect: &'static [&'static str],
}

impl Scenario {
    fn new(name: &'static str, setup: Setup, steps: Vec<Step>, expect: &'static [&'static str]) -> Self {
        let script = Script::of(steps);
        Self {
            name,
            setup,
            script,
            expect,
        }
    }

    /// The agent as a client would create it.
    pub fn agent(&self) -> Value {
        self.setup.agent()
    }

    /// The body of `POST /calls` that calls this phone.
    pub fn call(&self, agent: &str, number: &str) -> Value {
        json!({
            "agentId": agent, "phoneNumber": number, "name": "Maria", "dynamicVariables": { "script": self.name }
        })
    }

    /// Whether the callee leaves before the agent has ended the call, in the middle of a speech perhaps.
    fn ends_early(&self) -> bool {
        self.script
            .steps
            .iter()
            .any(|step| matches!(step, Step::HangUp | Step::Drop))
    }

    /// How the call must end: its status and `errorMessage`.
    pub fn outcome(&self) -> (&'static str, Option<&'static str>) {
        let last = self.expect.last().copied().unwrap_or_default();
        match last.strip_prefix("ended failed: ") {
            Some(error) => ("failed", Some(error)),
            None => ("completed", None),
        }
    }
}

/// The whole suite.
pub fn all() -> Vec<Scenario> {
    let groups = [
        pauses::scenarios(),
        spelling::scenarios(),
        barge_in::scenarios(),
        talk_over::scenarios(),
        backchannels::scenarios(),
        noise::scenarios(),
        echo::scenarios(),
        silence::scenarios(),
        wire::scenarios(),
        endings::scenarios(),
    ];
    groups.into_iter().flatten().collect()
}

/// The phones' part of some scenarios, for [`ExchangeSettings::scripts`](crate::exchange::ExchangeSettings::scripts).
pub fn scripts(scenarios: &[Scenario]) -> BTreeMap<String, Script> {
    let named = scenarios
        .iter()
        .map(|scenario| (scenario.name.to_owned(), scenario.script.clone()));
    named.collect()
}

/// The number of the n-th phone of a run.
pub fn number(at: usize) -> String {
    format!("+1555040{at:04}")
}

/// Steps and lines that many scenarios have in common.
mod common {
    use super::{Scenario, Setup};
    use crate::exchange::Step;

    pub(super) const HELLO: &str = "user: Hello?";
    pub(super) const ASKS_DAY: &str =
        "agent: Hello, this is Ava from Greenfield Dental. Which day suits you for a visit?";
    pub(super) const FRIDAY: &str = "user: Friday.";
    pub(super) const ASKS_FIRST: &str = "agent: Thank you. Is this your first visit?";
    pub(super) const YES: &str = "user: Yes.";
    pub(super) const BYE: &str = "agent: Thank you, that's everything. Goodbye!";
    pub(super) const DONE: &str = "ended completed";

    pub(super) fn say(text: &str) -> Step {
        Step::Say(text.to_owned())
    }

    pub(super) fn murmur(text: &str) -> Step {
        Step::Murmur(text.to_owned())
    }

    pub(super) fn until_word(word: &str) -> Step {
        Step::UntilHeardWord(word.to_owned())
    }

    /// One sentence with silences in it.
    pub(super) fn parts(gap_ms: u64, groups: &[&str]) -> Step {
        Step::Spell {
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            gap_ms,
        }
    }

    /// Picks up, says hello, and hears the agent's greeting to its end before these steps.
    pub(super) fn greeted(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
        let mut all = vec![Step::WaitMs(400), say("Hello?"), Step::UntilAgentSaid];
        all.extend(steps);
        all
    }

    /// The same, and then names the day.
    pub(super) fn day_named(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
        let mut all = greeted([say("Friday.")]);
        all.extend(steps);
        all
    }

    /// What comes out of a conversation of two questions that nothing disturbs.
    pub(super) const PLAIN: &[&str] = &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, YES, BYE, DONE];

    /// The same, with one false alarm in the second question.
    pub(super) const STOPPED_ONCE: &[&str] =
        &[HELLO, ASKS_DAY, FRIDAY, ASKS_FIRST, "paused", "resumed", YES, BYE, DONE];

    /// Two questions, two answers.
    pub(super) fn undisturbed(name: &'static str) -> Scenario {
        in_second_question(name, [], PLAIN)
    }

    /// These steps in the second question, which is then answered.
    pub(super) fn in_second_question(
        name: &'static str,
        steps: impl IntoIterator<Item = Step>,
        expect: &'static [&'static str],
    ) -> Scenario {
        let mut all = day_named(steps);
        all.extend([Step::UntilAgentSaid, say("Yes.")]);
        Scenario::new(name, Setup::two(), all, expect)
    }

    /// Breaks into the second question one second after it began.
    pub(super) fn interrupted(name: &'static str) -> Scenario {
        in_second_question(
            name,
            [Step::IntoSpeechMs(1_000), say("Sorry, could you say that again?")],
            &[
                HELLO,
                ASKS_DAY,
                FRIDAY,
                "agent (cut): Thank you.",
                "paused",
                "user: Sorry, could you say that again?",
                "agent: Of course. Is this your first visit?",
                YES,
                BYE,
                DONE,
            ],
        )
    }
}

#[cfg(test)]
mod tests;
