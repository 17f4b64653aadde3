//! Effects that change the call's agent, or the language of the present one.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use crate::audio_stream::StreamMessage;
use crate::call::effects::{
    EffectHandler, outside_tools, placeholders, planned::planned_rules, planned::rules, record, streams, tasks,
    workflow, workflow::Graphs, workflow::with_usable_graph,
};
use crate::call::{Event, knowledge::CallKnowledge, state::AgentUnavailable};
use domain::{agent::Agent, call_values::own_values, id::AgentId, ports::store::ClaimedAttempt};

/// Agent that was looked up to take the call over.
pub struct Found {
    try_no: u32,
    id: AgentId,
    agent: Arc<Agent>,
    variables: Arc<BTreeMap<String, String>>,
}

/// Applies to an agent that takes a call over the settings that hold for the whole call: the values that the
/// first agent collects, and its promise to honour a wish never to be called again.
pub(crate) fn bound(mut agent: Arc<Agent>, first: &Agent) -> Arc<Agent> {
    let own = &mut Arc::make_mut(&mut agent).platform_settings;
    own.data_collection.clone_from(&first.platform_settings.data_collection);
    own.call_actions.smart_opt_out |= first.platform_settings.call_actions.smart_opt_out;
    agent
}

/// Returns the agent's own values of placeholders that this call does not fill otherwise.
fn own_values_in<'a>(attempt: &'a ClaimedAttempt, agent: &'a Agent) -> impl Iterator<Item = (String, String)> + 'a {
    own_values(agent, [&attempt.saved_extra, &attempt.variables], &attempt.contact)
}

pub fn look_up_agent(call: &mut EffectHandler, try_no: u32, agent: AgentId, after_ms: u64) {
    let store = call.with.ports.store.clone();
    let account = call.plan.attempt.account;
    let task = tasks::look_up_agent(store, (account, agent), after_ms, try_no, call.me.clone());
    call.spawn(task);
}

/// Prepares the agent for this call and returns the event that reports it.
pub fn agent_found(
    call: &mut EffectHandler,
    try_no: u32,
    found: Result<(AgentId, Arc<Agent>), AgentUnavailable>,
) -> Event {
    let found = found.map(|(id, agent)| {
        let plan = &call.plan;
        let mut variables = BTreeMap::clone(&plan.variables);
        for (name, text) in own_values_in(&plan.attempt, &agent) {
            variables.entry(name).or_insert(text);
        }
        let bound = bound(plan.fitted(&agent), &call.model.began_with);
        let (agent, graph, graph_not_used) = with_usable_graph(bound, &variables);
        workflow::graph_not_used(call, &graph_not_used);
        let found = Found {
            try_no,
            id,
            agent,
            variables: Arc::new(variables),
        };
        let of = (found.id, &found.agent, &found.variables);
        let rules = Box::new(rules(&call.plan, &call.with, of, graph));
        call.model.found = Some(found);
        rules
    });
    Event::AgentFound { try_no, found }
}

/// Makes the agent that was found the call's agent.
pub fn adopt_agent(call: &mut EffectHandler, try_no: u32) {
    let Some(found) = call.model.found.take().filter(|found| found.try_no == try_no) else {
        return;
    };
    let plan = &mut call.plan;
    plan.agent_id = found.id;
    plan.agent = found.agent;
    plan.variables = found.variables;
    call.model.graphs = Graphs::default();
    let detail = json!({ "agentId": plan.agent_id, "agentName": plan.agent.name });
    record::record_event(call, "agent_changed", &detail);
    outside_tools::ask_for_tools(call);
    placeholders::have_phrases_made(call);
    open_knowledge(call);
    streams::tell_stream(call, StreamMessage::Adopt(call.plan.agent.clone()));
}

/// Switches the agent to another of its languages.
pub fn speak(call: &mut EffectHandler, code: &str) {
    workflow::change_agent(call, |agent| agent.in_language(code));
    let plan = &mut call.plan;
    let agent = plan.agent.clone();
    Arc::make_mut(&mut plan.variables).extend(own_values_in(&plan.attempt, &agent));
    let rules = planned_rules(&call.plan, &call.with, workflow::graph(call));
    if let Some(machine) = &mut call.machine {
        machine.take_rules(rules);
    }
    placeholders::have_phrases_made(call);
    streams::tell_stream(call, StreamMessage::Adopt(agent));
}

/// Uses the present agent's knowledge from here on.
pub fn open_knowledge(call: &mut EffectHandler) {
    let plan = &call.plan;
    let base = call.with.ports.knowledge.clone();
    let (knowledge, opening) = CallKnowledge::of(base, plan.attempt.account, &plan.agent);
    call.model.knowledge = knowledge;
    if let Some(opening) = opening {
        call.spawn(opening);
    }
}
