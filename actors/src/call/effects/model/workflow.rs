//! Effects of the walk through the conversation graph of the agent.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use tokio::task::AbortHandle;

use crate::audio_stream::StreamMessage;
use crate::call::effects::{
    EffectHandler, another_agent, outside_tools, placeholders, planned::planned_rules, record, replying, streams,
};
use crate::call::{routing, routing::Arguments, routing::RouterQuestion, state::State};
use domain::{
    agent::{Agent, BuiltInTools, Workflow},
    id::ToolId,
    ports::language_model::{Note, NoteScope, ReplyRequest},
    ports::tool_runner::{ToolOffer, ToolScope},
    workflow::{Candidate, Finding, Graph, Known, Question, findings},
};

/// State of the effects of a walk.
#[derive(Default)]
pub struct Graphs {
    /// The agent without the changes of the present node, and that node.
    plain: Option<(Arc<Agent>, String)>,
    /// Tools of the present node.
    pub offers: Arc<[ToolOffer]>,
    /// Task of the question in progress.
    asking: Option<AbortHandle>,
}

/// Returns the graph of the present agent.
pub fn graph(call: &EffectHandler) -> Option<Arc<Graph>> {
    let rules = call.machine.as_ref().and_then(State::graph);
    rules.map(|rules| rules.graph.clone())
}

/// Returns the agent as it talks in a node.
pub fn agent_in(call: &EffectHandler, node: &str) -> Arc<Agent> {
    let plain = call.model.graphs.plain.as_ref();
    let plain = plain.map_or(&call.plan.agent, |(plain, _)| plain);
    match graph(call) {
        Some(graph) => Arc::new(graph.agent_in(node, plain)),
        None => plain.clone(),
    }
}

/// Uses the changes of a node in place of those of the node before.
pub fn adopt_node(call: &mut EffectHandler, node: Option<String>) {
    let before = call.plan.agent.clone();
    let changed = node.as_deref().map(|node| agent_in(call, node));
    let plain = call.model.graphs.plain.take();
    let plain = plain.map_or_else(|| before.clone(), |(plain, _)| plain);
    call.plan.agent = changed.unwrap_or_else(|| plain.clone());
    call.model.graphs.plain = node.map(|node| (plain, node));
    if call.plan.agent == before {
        return;
    }
    let rules = planned_rules(&call.plan, &call.with, graph(call));
    if let Some(machine) = &mut call.machine {
        machine.take_rules(rules);
    }
    let of = |agent: &Agent| agent.conversation_config.agent.prompt.clone();
    let (old, new) = (of(&before), of(&call.plan.agent));
    if old.tool_ids != new.tool_ids {
        outside_tools::ask_for_tools(call);
    }
    if old.knowledge_base != new.knowledge_base {
        another_agent::open_knowledge(call);
    }
    placeholders::have_phrases_made(call);
    streams::tell_stream(call, StreamMessage::Adopt(call.plan.agent.clone()));
}

/// Records why the graph of the present agent is not used.
pub fn graph_not_used(call: &EffectHandler, found: &[Finding]) {
    if !found.is_empty() {
        let found = found
            .iter()
            .map(|finding| json!({ "path": finding.path, "message": finding.message }));
        record::record_event(
            call,
            "graph_not_used",
            &json!({ "findings": found.collect::<Vec<_>>() }),
        );
    }
}

/// Uses the changes of the node in which another process left the call.
pub fn resume_node(call: &mut EffectHandler) {
    let adopted = call.machine.as_ref().and_then(State::adopted);
    if let Some(node) = adopted.map(str::to_owned) {
        adopt_node(call, Some(node));
    }
}

/// Changes the agent as `change` says, below the changes of the present node.
pub fn change_agent(call: &mut EffectHandler, change: impl FnOnce(&Agent) -> Agent) {
    let (plain, node) = match call.model.graphs.plain.take() {
        Some((plain, node)) => (plain, Some(node)),
        None => (call.plan.agent.clone(), None),
    };
    call.plan.agent = Arc::new(change(&plain));
    if node.is_some() {
        adopt_node(call, node);
    }
}

/// Sets values of placeholders.
pub fn set_variables(call: &mut EffectHandler, values: BTreeMap<String, String>) {
    Arc::make_mut(&mut call.plan.variables).extend(values);
    placeholders::read_texts_again(call);
}

/// Asks the router, dropping an unanswered question.
pub fn ask_router(call: &mut EffectHandler, number: u64, candidates: Vec<Candidate>, questions: Vec<Question>) {
    cancel_router(call);
    let Some(machine) = &call.machine else { return };
    let Some(rules) = machine.graph() else { return };
    let question = RouterQuestion {
        agent: routing::router(&call.plan.agent, rules.graph.router.as_deref()),
        variables: call.plan.variables.clone(),
        history: machine.asked(),
        candidates,
        questions,
        meter: call.meter.clone(),
    };
    let task = routing::ask(call.with.ports.analyst.clone(), question, number, call.me.clone());
    call.model.graphs.asking = Some(call.spawn(task));
}

pub fn cancel_router(call: &mut EffectHandler) {
    if let Some(asking) = call.model.graphs.asking.take() {
        asking.abort();
    }
}

/// Looks up the tools of a node, and chooses arguments for them.
pub fn choose_arguments(call: &mut EffectHandler, number: u64, tools: Vec<ToolId>) {
    cancel_router(call);
    let Some(machine) = &call.machine else { return };
    let Some(rules) = machine.graph() else { return };
    let agent = with_tools(&call.plan.agent, &tools);
    let asks = (!rules.by_words).then(|| ReplyRequest {
        notes: vec![Note {
            text: "Call each of your tools once now, with arguments from the call so far, and say nothing.".into(),
            holds_for: NoteScope::Turn,
        }],
        ..replying::request(call, machine, &agent)
    });
    let mut known = BTreeMap::clone(&call.plan.variables);
    known.extend(machine.history().collected().clone());
    let arguments = Arguments {
        runner: call.with.ports.tools.clone(),
        scope: ToolScope {
            agent,
            ..outside_tools::tool_scope(call)
        },
        tools,
        asks: asks.map(|request| (call.with.ports.language_model.clone(), request)),
        known,
    };
    let task = routing::choose(arguments, number, call.me.clone());
    call.model.graphs.asking = Some(call.spawn(task));
}

/// Returns the agent with its graph, or without it if that cannot be walked, and why. Agents and tools that it refers
/// to are looked up when the call comes to them.
pub fn with_usable_graph(
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
