//! Tools that run outside the call: looks them up and runs them as tasks.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::EffectHandler;
use crate::call::{CallMessage, Event, state::ToolAnswer, tasks};
use domain::{
    analysis::is_agreed,
    ports::tool_runner::{BOOK_APPOINTMENT, ToolFault, ToolOffer, ToolRun, ToolScope},
};

/// Time for which a tool waits until its run is recorded. After that it runs all the same.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);

/// Outside tools that the present agent may use. `None` until they are known.
pub(in crate::call) type Offers = watch::Receiver<Option<Arc<[ToolOffer]>>>;

/// Outside tools of the present agent.
pub(super) struct OutsideTools {
    /// Number of the agent within the call, from 0 on.
    generation: u64,
    offers: Offers,
}

impl Default for OutsideTools {
    fn default() -> Self {
        let offers = watch::Sender::new(None).subscribe();
        Self { generation: 0, offers }
    }
}

impl EffectHandler {
    pub(super) fn tool_scope(&self) -> ToolScope {
        let plan = &self.plan;
        ToolScope {
            account: plan.attempt.account,
            attempt: plan.attempt.claim.attempt,
            agent_id: plan.agent_id,
            agent: plan.agent.clone(),
            variables: plan.variables.clone(),
            number: plan.attempt.contact.phone_number.clone(),
        }
    }

    /// Looks up the tools of the present agent.
    pub(super) fn ask_for_tools(&mut self) {
        let known = watch::Sender::new(None);
        self.tools.generation += 1;
        self.tools.offers = known.subscribe();
        let runner = self.with.ports.tools.clone();
        let scope = self.tool_scope();
        let task = tasks::ask_for_tools(runner, scope, (self.tools.generation, known), self.me.clone());
        self.spawn(task);
    }

    pub(super) fn offers(&self) -> Offers {
        self.tools.offers.clone()
    }

    /// Returns the names of the tools if they belong to the present agent.
    pub(super) fn offered(&self, generation: u64, offers: &[ToolOffer]) -> Option<Vec<String>> {
        let present = generation == self.tools.generation;
        present.then(|| offers.iter().map(|offer| offer.name.clone()).collect())
    }

    pub(super) fn run_tool(&mut self, run: u64, name: &str, arguments: Value) {
        let offers = self.tools.offers.borrow().clone();
        let offers = offers.iter().flat_map(|offers| offers.iter());
        let mut offers = offers.chain(self.graphs.offers.iter());
        let offer = offers.find(|offer| offer.name == name).cloned();
        let answered = |result| {
            let answer = ToolAnswer {
                run,
                result,
                took_ms: 0,
            };
            let _ = self.me.cast(CallMessage::Happened(Event::ToolAnswered(answer)));
        };
        let Some(offer) = offer else {
            let refused = ToolFault::Refused("there is no such tool".into());
            return answered(Err(refused.to_string()));
        };
        let heard = self
            .machine
            .as_ref()
            .map_or(&[][..], |machine| machine.history().items());
        let (agent, now) = (&self.plan.agent, self.with.ports.clock.now());
        if name == BOOK_APPOINTMENT && !is_agreed(arguments["start"].as_str().unwrap_or_default(), heard, agent, now) {
            let message = "the person has not said or confirmed `start`: ask for the day and the time in one question, book after a yes";
            return answered(Err(ToolFault::Arguments(message.into()).to_string()));
        }
        if self.plan.is_simulated() {
            return answered(Ok(json!({ "ok": true, "simulated": true })));
        }
        let run = ToolRun {
            scope: self.tool_scope(),
            offer,
            arguments,
            number: run,
        };
        let task = tasks::run_tool(self.with.ports.tools.clone(), run, self.me.clone());
        let journal = self.may_be_another_s().then(|| self.with.journal.clone());
        self.spawn(async move {
            if let Some(journal) = journal {
                // A new owner that does not know of the run would run it again.
                journal.flush(RECORDED_WITHIN).await;
            }
            task.await;
        });
    }
}
