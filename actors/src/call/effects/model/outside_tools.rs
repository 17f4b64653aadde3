//! Tools that run outside the call: looks them up and runs them as tasks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::call::effects::{EffectHandler, coming_back, tasks, tasks::Offers};
use crate::call::{CallMessage, Event, state::ToolAnswer};
use domain::{
    analysis::is_agreed,
    ports::tool_runner::{BOOK_APPOINTMENT, ToolFault, ToolOffer, ToolRun, ToolScope},
};

/// Time for which a tool waits until its run is recorded. After that it runs all the same.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);

/// Outside tools of the present agent.
pub struct OutsideTools {
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

pub fn tool_scope(call: &EffectHandler) -> ToolScope {
    let plan = &call.plan;
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
pub fn ask_for_tools(call: &mut EffectHandler) {
    let known = watch::Sender::new(None);
    call.model.tools.generation += 1;
    call.model.tools.offers = known.subscribe();
    let runner = call.with.ports.tools.clone();
    let scope = tool_scope(call);
    let task = tasks::ask_for_tools(runner, scope, (call.model.tools.generation, known), call.me.clone());
    call.spawn(task);
}

pub fn offers(call: &EffectHandler) -> Offers {
    call.model.tools.offers.clone()
}

/// Returns the names of the tools if they belong to the present agent.
pub fn offered(call: &EffectHandler, generation: u64, offers: &[ToolOffer]) -> Option<Vec<String>> {
    let present = generation == call.model.tools.generation;
    present.then(|| offers.iter().map(|offer| offer.name.clone()).collect())
}

pub fn run_tool(call: &mut EffectHandler, run: u64, name: &str, arguments: Value) {
    let offers = call.model.tools.offers.borrow().clone();
    let offers = offers.iter().flat_map(|offers| offers.iter());
    let mut offers = offers.chain(call.model.graphs.offers.iter());
    let offer = offers.find(|offer| offer.name == name).cloned();
    let answered = |result| {
        let answer = ToolAnswer {
            run,
            result,
            took_ms: 0,
        };
        let _ = call.me.cast(CallMessage::Happened(Event::ToolAnswered(answer)));
    };
    let Some(offer) = offer else {
        let refused = ToolFault::Refused("there is no such tool".into());
        return answered(Err(refused.to_string()));
    };
    let heard = call
        .machine
        .as_ref()
        .map_or(&[][..], |machine| machine.history().items());
    let (agent, now) = (&call.plan.agent, call.with.ports.clock.now());
    if name == BOOK_APPOINTMENT && !is_agreed(arguments["start"].as_str().unwrap_or_default(), heard, agent, now) {
        let message = "the person has not said or confirmed `start`: ask for the day and the time in one question, book after a yes";
        return answered(Err(ToolFault::Arguments(message.into()).to_string()));
    }
    if call.plan.is_simulated() {
        return answered(Ok(json!({ "ok": true, "simulated": true })));
    }
    let run = ToolRun {
        scope: tool_scope(call),
        offer,
        arguments,
        number: run,
    };
    let task = tasks::run_tool(call.with.ports.tools.clone(), run, call.me.clone());
    let journal = coming_back::may_be_another_s(call).then(|| call.with.journal.clone());
    call.spawn(async move {
        if let Some(journal) = journal {
            // A new owner that does not know of the run would run it again.
            journal.flush(RECORDED_WITHIN).await;
        }
        task.await;
    });
}
