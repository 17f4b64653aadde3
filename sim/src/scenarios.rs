//! Scripted conversations as data: the agent's settings, the phone's script, the expected result. Tests run
//! them under a paused clock, `ringback-bench turns` in real time.

mod observed;
mod score;
mod setup;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

pub use self::{
    observed::{Observed, Span},
    score::{MISMATCH_WORDS, RESUMES_WITHIN_MS, Score, Verdict},
    setup::Setup,
};
use crate::exchange::{Script, Step};

/// One scripted conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Unique name; the phone's script has this name too.
    pub name: String,
    /// Settings of the agent.
    pub setup: Setup,
    /// Script of the phone.
    pub script: Script,
    /// Expected result if every word is recognised at once: the transcript's lines and the events of playout,
    /// in order. `agent:` is a speech heard whole, `agent (cut):` the heard words of a dropped speech,
    /// `user:` a turn as transcribed. `paused` and `resumed` are the effect of a false alarm on playout. The
    /// last line tells how the call ended.
    pub expect: Vec<String>,
}

impl Scenario {
    /// Returns the agent as a client would create it.
    pub fn agent(&self) -> Value {
        self.setup.agent()
    }

    /// Returns the body of the `POST /calls` that calls this phone.
    pub fn call(&self, agent: &str, number: &str) -> Value {
        json!({
            "agentId": agent, "phoneNumber": number, "name": "Maria", "dynamicVariables": { "script": self.name }
        })
    }

    /// Returns whether the callee leaves before the agent has ended the call, perhaps in the middle of a speech.
    fn ends_early(&self) -> bool {
        self.script
            .steps
            .iter()
            .any(|step| matches!(step, Step::HangUp | Step::Drop))
    }

    /// Returns the expected end of the call: its status and `errorMessage`.
    pub fn outcome(&self) -> (&'static str, Option<&str>) {
        let last = self.expect.last();
        match last.and_then(|last| last.strip_prefix("ended failed: ")) {
            Some(error) => ("failed", Some(error)),
            None => ("completed", None),
        }
    }
}

/// Scenarios on one subject, which `about` names.
#[derive(Deserialize)]
struct Group {
    scenarios: Vec<Scenario>,
}

const SUITE: &str = include_str!("scenarios/suite.json");

/// Returns the whole suite.
pub fn all() -> Vec<Scenario> {
    let groups: Vec<Group> = serde_json::from_str(SUITE).expect("the suite is a part of this program");
    groups.into_iter().flat_map(|group| group.scenarios).collect()
}

/// Returns the phones' scripts of some scenarios, for
/// [`ExchangeSettings::scripts`](crate::exchange::ExchangeSettings::scripts).
pub fn scripts(scenarios: &[Scenario]) -> BTreeMap<String, Script> {
    let named = scenarios
        .iter()
        .map(|scenario| (scenario.name.clone(), scenario.script.clone()));
    named.collect()
}

/// Returns the number of the n-th phone of a run.
pub fn number(at: usize) -> String {
    format!("+1555040{at:04}")
}

#[cfg(test)]
mod tests;
