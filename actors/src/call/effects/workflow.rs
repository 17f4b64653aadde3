//! Effects of the walk through the conversation graph of the agent.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use tokio::task::AbortHandle;

use super::{EffectHandler, rules};
use crate::{
    audio_stream::StreamMessage,
    call::{
        routing::{self, Arguments, RouterQuestion},
        state::State,
    },
};
use domain::{
    agent::{Agent, BuiltInTools, Workflow},
    id::ToolId,
    ports::language_model::{Note, NoteScope, ReplyRequest},
    ports::tool_runner::{ToolOffer, ToolScope},
    workflow::{Candidate, Finding, Graph, Known, Question, findings},
};

/// State of the effects of a walk.
#[derive(Default)]
pub(super) struct Graphs {
    /// The agent without the changes of the present node, and that node.
    plain: Option<(Arc<Agent>, String)>,
    /// Tools of the present node.
    pub(super) offers: Arc<[ToolOffer]>,
    /// Task of the question in progress.
    asking: Option<AbortHandle>,
}

impl EffectHandler {
    /// Returns the graph of the present agent.
    pub(super) fn graph(&self) -> Option<Arc<Graph>> {
        let rules = self.machine.as_ref().and_then(State::graph);
        rules.map(|rules| rules.graph.clone())
    }

    /// Returns the agent as it talks in a node.
    pub(super) fn agent_in(&self, node: &str) -> Arc<Agent> {
        let plain = self.graphs.plain.as_ref();
        let plain = plain.map_or(&self.plan.agent, |(plain, _)| plain);
        match self.graph() {
            Some(graph) => Arc::new(graph.agent_in(node, plain)),
            None => plain.clone(),
        }
    }

    /// Uses the changes of a node in place of those of the node before.
    pub(super) fn adopt_node(&mut self, node: Option<String>) {
        let before = self.plan.agent.clone();
        let changed = node.as_deref().map(|node| self.agent_in(node));
        let plain = self.graphs.plain.take();
        let plain = plain.map_or_else(|| before.clone(), |(plain, _)| plain);
        self.plan.agent = changed.unwrap_or_else(|| plain.clone());
        self.graphs.plain = node.map(|node| (plain, node));
        if self.plan.agent == before {
            return;
        }
        let rules = rules(
            &self.plan,
            &self.with,
            (self.plan.agent_id, &self.plan.agent, &self.plan.variables),
            self.graph(),
        );
        if let Some(machine) = &mut self.machine {
            machine.take_rules(rules);
        }
        let of = |agent: &Agent| agent.conversation_config.agent.prompt.clone();
        let (old, new) = (of(&before), of(&self.plan.agent));
        if old.tool_ids != new.tool_ids {
            self.ask_for_tools();
        }
        if old.knowledge_base != new.knowledge_base {
            self.open_knowledge();
        }
        self.have_phrases_made();
        self.tell_stream(StreamMessage::Adopt(self.plan.agent.clone()));
    }

    /// Records why the graph of the present agent is not used.
    pub(super) fn graph_not_used(&self, found: &[Finding]) {
        if !found.is_empty() {
            let found = found
                .iter()
                .map(|finding| json!({ "path": finding.path, "message": finding.message }));
            self.record_event("graph_not_used", &json!({ "findings": found.collect::<Vec<_>>() }));
        }
    }

    /// Uses the changes of the node in which another process left the call.
    pub(super) fn resume_node(&mut self) {
        let adopted = self.machine.as_ref().and_then(State::adopted);
        if let Some(node) = adopted.map(str::to_owned) {
            self.adopt_node(Some(node));
        }
    }

    /// Changes the agent as `change` says, below the changes of the present node.
    pub(super) fn change_agent(&mut self, change: impl FnOnce(&Agent) -> Agent) {
        let (plain, node) = match self.graphs.plain.take() {
            Some((plain, node)) => (plain, Some(node)),
            None => (self.plan.agent.clone(), None),
        };
        self.plan.agent = Arc::new(change(&plain));
        if node.is_some() {
            self.adopt_node(node);
        }
    }

    /// Sets values of placeholders.
    pub(super) fn set_variables(&mut self, values: BTreeMap<String, String>) {
        Arc::make_mut(&mut self.plan.variables).extend(values);
        self.read_texts_again();
    }

    /// Asks the router, dropping an unanswered question.
    pub(super) fn ask_router(&mut self, number: u64, candidates: Vec<Candidate>, questions: Vec<Question>) {
        self.cancel_router();
        let Some(machine) = &self.machine else { return };
        let Some(rules) = machine.graph() else { return };
        let question = RouterQuestion {
            agent: routing::router(&self.plan.agent, rules.graph.router.as_deref()),
            variables: self.plan.variables.clone(),
            history: machine.asked(),
            candidates,
            questions,
            meter: self.meter.clone(),
        };
        let task = routing::ask(self.with.ports.analyst.clone(), question, number, self.me.clone());
        self.graphs.asking = Some(self.spawn(task));
    }

    pub(super) fn cancel_router(&mut self) {
        if let Some(asking) = self.graphs.asking.take() {
            asking.abort();
        }
    }

    /// Looks up the tools of a node, and chooses arguments for them.
    pub(super) fn choose_arguments(&mut self, number: u64, tools: Vec<ToolId>) {
        self.cancel_router();
        let Some(machine) = &self.machine else { return };
        let Some(rules) = machine.graph() else { return };
        let agent = with_tools(&self.plan.agent, &tools);
        let asks = (!rules.by_words).then(|| ReplyRequest {
            notes: vec![Note {
                text: "Call each of your tools once now, with arguments from the call so far, and say nothing.".into(),
                holds_for: NoteScope::Turn,
            }],
            ..self.request(machine, &agent)
        });
        let mut known = BTreeMap::clone(&self.plan.variables);
        known.extend(machine.history().collected().clone());
        let arguments = Arguments {
            runner: self.with.ports.tools.clone(),
            scope: ToolScope {
                agent,
                ..self.tool_scope()
            },
            tools,
            asks: asks.map(|request| (self.with.ports.language_model.clone(), request)),
            known,
        };
        let task = routing::choose(arguments, number, self.me.clone());
        self.graphs.asking = Some(self.spawn(task));
    }
}

/// Returns the agent with its graph, or without it if that cannot be walked, and why. Agents and tools that it refers
/// to are looked up when the call comes to them.
pub(super) fn with_usable_graph(
    agent: Arc<Agent>,
    variables: &BTreeMap<String, String>,
) -> (Arc<Agent>, Option<Arc<Graph>>, Vec<Finding>) {
    let Some(graph) = Graph::read(&agent.workflow) else {
        return (agent, None, Vec::new());
    };
    let mut known = Known::of(&agent, graph.references());
    known.variables.extend(variables.keys().cloned());
    let mut found = findings(&graph, &known);
    found.retain(|finding| finding.blocks);
    if found.is_empty() {
        return (agent, Some(Arc::new(graph)), found);
    }
    let mut agent = Agent::clone(&agent);
    agent.workflow = Workflow::default();
    (Arc::new(agent), None, found)
}

/// Returns the agent with these tools and no others.
fn with_tools(agent: &Agent, tools: &[ToolId]) -> Arc<Agent> {
    let mut agent = agent.clone();
    let prompt = &mut agent.conversation_config.agent.prompt;
    prompt.built_in_tools = BuiltInTools::default();
    prompt.tool_ids = tools.iter().map(ToString::to_string).collect();
    agent.platform_settings.data_collection = Default::default();
    agent.platform_settings.call_actions.smart_opt_out = false;
    Arc::new(agent)
}
