//! Effects that change the call's agent, or the language of the present one.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::{
    EffectHandler, rules,
    workflow::{Graphs, with_usable_graph},
};
use crate::{
    audio_stream::StreamMessage,
    call::{
        knowledge::CallKnowledge,
        state::{AgentUnavailable, Event},
        tasks,
    },
};
use domain::{agent::Agent, call_values::own_values, id::AgentId, ports::store::ClaimedAttempt};

/// Agent that was looked up to take the call over.
pub(super) struct Found {
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

impl EffectHandler {
    pub(super) fn look_up_agent(&mut self, try_no: u32, agent: AgentId, after_ms: u64) {
        let store = self.with.ports.store.clone();
        let account = self.plan.attempt.account;
        let task = tasks::look_up_agent(store, (account, agent), after_ms, try_no, self.me.clone());
        self.spawn(task);
    }

    /// Prepares the agent for this call and returns the event that reports it.
    pub(super) fn agent_found(&mut self, try_no: u32, found: Result<(AgentId, Arc<Agent>), AgentUnavailable>) -> Event {
        let found = found.map(|(id, agent)| {
            let plan = &self.plan;
            let mut variables = BTreeMap::clone(&plan.variables);
            for (name, text) in own_values_in(&plan.attempt, &agent) {
                variables.entry(name).or_insert(text);
            }
            let bound = bound(plan.fitted(&agent), &self.began_with);
            let (agent, graph, graph_not_used) = with_usable_graph(bound, &variables);
            self.graph_not_used(&graph_not_used);
            let found = Found {
                try_no,
                id,
                agent,
                variables: Arc::new(variables),
            };
            let of = (found.id, &found.agent, &found.variables);
            let rules = Box::new(rules(&self.plan, &self.with, of, graph));
            self.found = Some(found);
            rules
        });
        Event::AgentFound { try_no, found }
    }

    /// Makes the agent that was found the call's agent.
    pub(super) fn adopt_agent(&mut self, try_no: u32) {
        let Some(found) = self.found.take().filter(|found| found.try_no == try_no) else {
            return;
        };
        let plan = &mut self.plan;
        plan.agent_id = found.id;
        plan.agent = found.agent;
        plan.variables = found.variables;
        self.graphs = Graphs::default();
        let detail = json!({ "agentId": plan.agent_id, "agentName": plan.agent.name });
        self.record_event("agent_changed", &detail);
        self.ask_for_tools();
        self.have_phrases_made();
        self.open_knowledge();
        self.tell_stream(StreamMessage::Adopt(self.plan.agent.clone()));
    }

    /// Switches the agent to another of its languages.
    pub(super) fn speak(&mut self, code: &str) {
        self.change_agent(|agent| agent.in_language(code));
        let plan = &mut self.plan;
        let agent = plan.agent.clone();
        Arc::make_mut(&mut plan.variables).extend(own_values_in(&plan.attempt, &agent));
        let plan = &self.plan;
        let rules = rules(
            plan,
            &self.with,
            (plan.agent_id, &plan.agent, &plan.variables),
            self.graph(),
        );
        if let Some(machine) = &mut self.machine {
            machine.take_rules(rules);
        }
        self.have_phrases_made();
        self.tell_stream(StreamMessage::Adopt(agent));
    }

    /// Uses the present agent's knowledge from here on.
    pub(super) fn open_knowledge(&mut self) {
        let plan = &self.plan;
        let base = self.with.ports.knowledge.clone();
        let (knowledge, opening) = CallKnowledge::of(base, plan.attempt.account, &plan.agent);
        self.knowledge = knowledge;
        if let Some(opening) = opening {
            self.spawn(opening);
        }
    }
}
