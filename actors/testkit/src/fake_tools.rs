//! Outside tools that answer by script and record their runs.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value, json};

use domain::{
    ports::tool_runner::{ToolFault, ToolOffer, ToolRun, ToolRunner, ToolScope},
    template::CALL_DURATION,
};

#[derive(Default)]
struct Seen {
    offers: Vec<ToolOffer>,
    answers: VecDeque<(Duration, Result<Value, ToolFault>)>,
    runs: Vec<ToolRun>,
}

/// The fake. A run that is not in the script answers `{ "ok": true }` at once.
#[derive(Default)]
pub struct FakeTools(Mutex<Seen>);

impl FakeTools {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a tool of this name to every agent.
    pub fn offer(&self, name: &str, within: Duration) {
        self.seen().offers.push(ToolOffer {
            name: name.to_owned(),
            description: format!("Does {name}, after {{{{{CALL_DURATION}}}}} s."),
            parameters: json!({ "type": "object" }),
            within,
            key: name.to_owned(),
        });
    }

    /// Scripts the answer to the next unscripted run, after this delay.
    pub fn answer(&self, after: Duration, answer: Result<Value, ToolFault>) {
        self.seen().answers.push_back((after, answer));
    }

    /// Returns all runs.
    pub fn runs(&self) -> Vec<ToolRun> {
        self.seen().runs.clone()
    }
}

#[async_trait]
impl ToolRunner for FakeTools {
    async fn offered(&self, _: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault> {
        Ok(self.seen().offers.clone())
    }

    async fn run(&self, run: ToolRun) -> Result<Value, ToolFault> {
        let answer = {
            let mut seen = self.seen();
            seen.runs.push(run);
            seen.answers.pop_front()
        };
        let Some((after, answer)) = answer else {
            return Ok(json!({ "ok": true }));
        };
        tokio::time::sleep(after).await;
        answer
    }
}
