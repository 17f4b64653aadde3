//! The walk of a call through a graph: a state machine without I/O.
//!
//! No input can make it loop: each node is entered by a move, and at most [`MOST_HOPS`] moves are made without a
//! word of the caller. After that, and wherever no edge holds, the agent talks on in the present node.

mod departure;
mod moving;
mod ways;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::moving::{Moving, Next};
use super::{
    graph::{Graph, NodeKind},
    step::{Cause, Choice, HandOver, Input, Moves, Step},
};
use crate::{analysis::values::in_words, id::AgentId};

/// Most bytes of all values that a graph sets, because each move keeps them.
const MOST_VALUE_BYTES: usize = 16 * 1024;

/// Most moves without a word of the caller.
pub const MOST_HOPS: u32 = 12;

/// Place of a call in a graph. Another process continues the call from the serialised walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// Id of the present node; before the beginning, of the node to begin in, or none for the start.
    at: Option<String>,
    phase: Phase,
    /// Agents that the call went through.
    agents: Vec<AgentId>,
    /// Moves since the caller's last words.
    hops: u32,
    /// Turns of the caller for which a global node cannot be reached.
    cooldowns: BTreeMap<String, u32>,
    /// Values that the graph set.
    values: BTreeMap<String, Value>,
    /// Result of the tools of the present node, or false if it could not be entered.
    result: Option<bool>,
    /// Last `override_agent` node, whose changes of the agent hold.
    home: Option<String>,
    /// Place to go back to after a global node.
    back: Option<Place>,
    /// Whether the caller said anything yet.
    has_spoken: bool,
    /// Whether words of the caller wait for a reply.
    is_unanswered: bool,
    /// Whether the last node was `start` or `say`, after which the agent waits.
    is_quiet: bool,
    /// Whether the model missed a question since the caller's last words. It is not asked again until then.
    has_missed: bool,
}

/// Activity in the present node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// The graph is not entered yet.
    Outside,
    /// The agent talks, and the caller's next turn decides.
    Talking,
    /// The model was asked which way to take.
    Judging {
        /// Whether the caller's turn ended, rather than a node of another kind.
        heard: bool,
        /// Names of the variables it was asked for, after the values of the conditions.
        extracts: Vec<String>,
    },
    /// The model was asked for the values of an `update_state` node.
    Valuing,
    /// A message is being spoken.
    Saying,
    /// Tools are running.
    Working,
    /// The call is being transferred or handed to another agent.
    Leaving,
    /// The call is being ended.
    Over,
}

/// A place in the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    at: String,
    home: Option<String>,
}

impl Walk {
    /// Creates the walk of a call that this agent begins.
    pub fn new(agent: AgentId) -> Self {
        Self {
            at: None,
            phase: Phase::Outside,
            agents: vec![agent],
            hops: 0,
            cooldowns: BTreeMap::new(),
            values: BTreeMap::new(),
            result: None,
            home: None,
            back: None,
            has_spoken: false,
            is_unanswered: false,
            is_quiet: false,
            has_missed: false,
        }
    }

    /// Returns the walk through the graph of the agent that the call is handed to.
    #[must_use]
    pub fn handed_to(&self, to: &HandOver) -> Self {
        let mut agents = self.agents.clone();
        if !agents.contains(&to.agent) {
            agents.push(to.agent);
        }
        Self {
            at: to.entry.clone(),
            agents,
            hops: self.hops,
            values: self.values.clone(),
            has_spoken: self.has_spoken,
            is_unanswered: self.is_unanswered && !to.greets,
            has_missed: self.has_missed,
            ..Self::new(to.agent)
        }
    }

    /// Returns the id of the present node; none before the beginning.
    pub fn at(&self) -> Option<&str> {
        self.at.as_deref().filter(|_| self.phase != Phase::Outside)
    }

    /// Returns the id of the node whose changes of the agent hold; none for the agent as it is.
    pub fn adopted(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// Sets a value, unless all of them would become too large.
    fn set(&mut self, name: &str, value: Value) {
        let text_bytes = |value: &Value| value.as_str().map_or_else(|| in_words(value).len(), str::len);
        let size = |name: &str, value: &Value| name.len() + text_bytes(value);
        let others = self.values.iter().filter(|(known, _)| *known != name);
        let others: usize = others.map(|(name, value)| size(name, value)).sum();
        if others + size(name, &value) <= MOST_VALUE_BYTES {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Returns the values that the graph set. They take precedence over the call's own.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// Returns the values of the call with those that the graph set, as placeholders show them.
    pub fn texts(&self, known: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut texts = known.clone();
        let set = self.values.iter().filter(|(_, value)| !value.is_null());
        texts.extend(set.map(|(name, value)| (name.clone(), in_words(value))));
        texts
    }

    /// Returns the number of tools that the present node runs.
    pub fn tools(&self, graph: &Graph) -> usize {
        match self.at().and_then(|at| graph.node(at)).map(|node| &node.kind) {
            Some(NodeKind::Tool { tools }) => tools.len(),
            _ => 0,
        }
    }

    /// Takes an event, and returns the moves and the next step. `known` are the values of the call.
    pub fn step(&mut self, graph: &Graph, known: &BTreeMap<String, String>, input: &Input<'_>) -> Moves {
        let mut moving = Moving::new(self, graph, known);
        let next = match input {
            Input::Begin => moving.begin(),
            Input::Resumed { done } => moving.resume(*done),
            Input::Heard { said } => moving.hear(said),
            Input::Spoken => moving.spoken(),
            Input::ToolsDone { successful } => moving.tools_done(*successful),
            Input::Judged { choice, values } => moving.judged(*choice, values),
            Input::NotEntered => moving.not_entered(),
        };
        moving.run(next)
    }
}

impl<'a> Moving<'a> {
    fn begin(&mut self) -> Next {
        if self.walk.phase != Phase::Outside {
            return Next::Stop(Step::Wait);
        }
        let graph = self.graph;
        let entry = self.walk.at.take().filter(|entry| graph.node(entry).is_some());
        match entry.or_else(|| graph.start().map(str::to_owned)) {
            Some(entry) => self.move_to(&entry, None, Cause::Begin, None),
            None => self.rest(),
        }
    }

    fn resume(&mut self, done: Option<bool>) -> Next {
        match self.walk.phase.clone() {
            Phase::Outside => self.begin(),
            Phase::Talking => self.rest(),
            Phase::Judging { heard, .. } => self.leave(heard),
            Phase::Saying if done == Some(true) => self.spoken(),
            Phase::Leaving if done == Some(false) => self.not_entered(),
            Phase::Valuing | Phase::Saying | Phase::Leaving | Phase::Over => Next::Enter,
            // They may have run although nothing is known of that.
            Phase::Working => self.tools_done(done == Some(true)),
        }
    }

    fn hear(&mut self, said: &str) -> Next {
        let walk = &mut *self.walk;
        (walk.hops, walk.has_missed) = (0, false);
        (walk.has_spoken, walk.is_unanswered) = (true, true);
        walk.cooldowns.retain(|_, turns| {
            let is_blocked = *turns > 0;
            *turns = turns.saturating_sub(1);
            is_blocked
        });
        match self.walk.phase {
            Phase::Outside => self.begin(),
            Phase::Working | Phase::Leaving | Phase::Over => Next::Stop(Step::Wait),
            // The values of an `update_state` node are asked for again, with the new words.
            Phase::Valuing => Next::Enter,
            Phase::Talking | Phase::Saying | Phase::Judging { .. } => {
                self.extract(said);
                match self.jump_target() {
                    Some(target) => self.jump(target),
                    None => self.leave(true),
                }
            }
        }
    }

    fn spoken(&mut self) -> Next {
        if self.walk.phase != Phase::Saying {
            return Next::Stop(Step::Wait);
        }
        let awaits_answer = self.walk.at().is_some_and(|at| self.graph.awaits_answer(at));
        match self.jump_target() {
            Some(target) => self.jump(target),
            None if awaits_answer => self.rest(),
            None => self.leave(false),
        }
    }

    fn tools_done(&mut self, successful: bool) -> Next {
        if self.walk.phase != Phase::Working {
            return Next::Stop(Step::Wait);
        }
        self.walk.result = Some(successful);
        self.walk.is_unanswered |= !successful;
        self.leave(false)
    }

    fn judged(&mut self, choice: Choice, values: &[Option<Value>]) -> Next {
        self.walk.has_missed |= choice == Choice::Missed;
        match self.walk.phase.clone() {
            Phase::Judging { heard, extracts } => self.decide(heard, &extracts, choice, values),
            Phase::Valuing => {
                self.update(values);
                self.leave(false)
            }
            _ => Next::Stop(Step::Wait),
        }
    }

    fn not_entered(&mut self) -> Next {
        match self.walk.phase {
            Phase::Saying | Phase::Working | Phase::Leaving => self.fail(),
            _ => Next::Stop(Step::Wait),
        }
    }
}
