//! The moves of one input: entering nodes, and choosing the ways out of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{MOST_HOPS, Phase, Place, Walk};
use crate::{
    agent::{Entity, EntityKind},
    analysis::values::checked,
    template,
    workflow::{
        expression::{Question, Scope},
        graph::{EntryBehavior, Graph, Message, NodeKind, Test, Way},
        judge,
        step::{Candidate, Cause, Choice, Hop, Moves, Step},
    },
};

/// Longest text of [`Hop::judged`], in characters.
const JUDGED_CHARS: usize = 500;

/// A walk that takes one input.
pub(super) struct Moving<'a> {
    pub walk: &'a mut Walk,
    pub graph: &'a Graph,
    pub known: &'a BTreeMap<String, String>,
    hops: Vec<Hop>,
}

/// Continuation of a move.
pub(super) enum Next {
    /// The present node is entered.
    Enter,
    /// The walk waits for its next input.
    Stop(Step),
}

impl<'a> Moving<'a> {
    pub(super) fn new(walk: &'a mut Walk, graph: &'a Graph, known: &'a BTreeMap<String, String>) -> Self {
        Self {
            walk,
            graph,
            known,
            hops: Vec::new(),
        }
    }

    /// Enters nodes until the walk waits. Only a move leads to the next node, and their number is limited.
    pub(super) fn run(mut self, mut next: Next) -> Moves {
        loop {
            match next {
                Next::Enter => next = self.enter(),
                Next::Stop(step) => {
                    return Moves { hops: self.hops, step };
                }
            }
        }
    }

    /// Returns the type of the present node; none if there is no such node.
    pub(super) fn kind(&self) -> Option<&'a NodeKind> {
        let node = self.graph.node(self.walk.at.as_deref()?)?;
        Some(&node.kind)
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            set: &self.walk.values,
            known: self.known,
        }
    }

    /// Lets the agent talk in the present node.
    pub(super) fn rest(&mut self) -> Next {
        self.walk.phase = Phase::Talking;
        let step = match std::mem::take(&mut self.walk.is_unanswered) {
            true => Step::Reply,
            false => Step::Wait,
        };
        Next::Stop(step)
    }

    /// Moves to a node, unless too many moves were made.
    pub(super) fn move_to(&mut self, to: &str, way: Option<&Way>, cause: Cause, judged: Option<&str>) -> Next {
        let from = self.walk.at.clone();
        if self.walk.hops >= MOST_HOPS {
            let at = self.walk.at.get_or_insert_with(|| to.to_owned()).clone();
            self.hops.push(Hop {
                from,
                to: at,
                edge: None,
                backward: false,
                cause: Cause::TooManyHops,
                judged: None,
            });
            return self.rest();
        }
        self.walk.hops += 1;
        self.walk.at = Some(to.to_owned());
        self.walk.result = None;
        if cause != Cause::Global {
            self.walk.back = None;
        }
        self.hops.push(Hop {
            from,
            to: to.to_owned(),
            edge: way.map(|way| way.edge.clone()),
            backward: way.is_some_and(|way| way.backward),
            cause,
            judged: judged.map(|text| text.chars().take(JUDGED_CHARS).collect()),
        });
        Next::Enter
    }

    fn take(&mut self, way: &Way) -> Next {
        let Some(condition) = self.graph.condition(way) else {
            return self.rest();
        };
        let label = condition.label.as_deref();
        let (cause, judged) = match &condition.test {
            Test::Unconditional => (Cause::Unconditional, label),
            Test::Llm { condition } => (Cause::Llm, Some(condition.as_str())),
            Test::Result { .. } => (Cause::Result, label),
            Test::Expression { .. } => (Cause::Expression, label),
            Test::Else => (Cause::Else, label),
        };
        self.move_to(&way.to, Some(way), cause, judged)
    }

    fn enter(&mut self) -> Next {
        let Some(kind) = self.kind() else {
            return self.fail();
        };
        let was_quiet = self.walk.is_quiet;
        self.walk.is_quiet = match kind {
            NodeKind::Start | NodeKind::Say { .. } => true,
            NodeKind::UpdateState { .. } => was_quiet,
            _ => false,
        };
        match kind {
            NodeKind::Start => self.leave(false),
            NodeKind::End { outcome } => {
                let outcome = *outcome;
                self.ask(Phase::Over, |node| Step::End { node, outcome })
            }
            NodeKind::UpdateState { updates } => {
                let questions = updates.iter().flat_map(|update| {
                    let required = update.required;
                    let questions = update.expression.questions();
                    questions.map(move |question| Question {
                        required,
                        ..question.clone()
                    })
                });
                let questions: Vec<Question> = questions.collect();
                if questions.is_empty() || !self.may_ask() {
                    self.update(&[]);
                    return self.leave(false);
                }
                let candidates = Vec::new();
                self.walk.phase = Phase::Valuing;
                Next::Stop(Step::Judge { candidates, questions })
            }
            NodeKind::OverrideAgent { entry_behavior } => {
                let reply = match entry_behavior {
                    EntryBehavior::Auto => self.walk.is_unanswered || !was_quiet,
                    EntryBehavior::GenerateImmediately => true,
                    EntryBehavior::WaitForUser => false,
                };
                self.walk.is_unanswered = false;
                self.walk.home.clone_from(&self.walk.at);
                self.ask(Phase::Talking, |node| Step::Adopt { node, reply })
            }
            NodeKind::Say { message, .. } => self.say(message.clone()),
            NodeKind::Tool { tools } => {
                let tools: Option<Vec<_>> = tools.iter().map(|tool| tool.parse().ok()).collect();
                match tools.filter(|tools| !tools.is_empty()) {
                    Some(tools) => self.ask(Phase::Working, |node| Step::RunTools { node, tools }),
                    None => self.fail(),
                }
            }
            NodeKind::StandaloneAgent {
                agent_id: None,
                transfer_message,
                ..
            } => match (self.jump_target(), transfer_message) {
                (Some(_), Some(text)) => self.say(Message::Literal { text: text.clone() }),
                (Some(target), None) => self.jump(target),
                (None, _) => self.fail(),
            },
            NodeKind::StandaloneAgent { .. } => match self.hand_over() {
                Some(to) => self.ask(Phase::Leaving, |node| Step::HandTo { node, to }),
                None => self.fail(),
            },
            NodeKind::PhoneNumber { .. } => match self.transfer() {
                Some(transfer) => self.ask(Phase::Leaving, |node| Step::Transfer { node, transfer }),
                None => self.fail(),
            },
            NodeKind::Unknown => self.fail(),
        }
    }

    fn ask(&mut self, phase: Phase, step: impl FnOnce(String) -> Step) -> Next {
        self.walk.phase = phase;
        Next::Stop(step(self.walk.at.clone().unwrap_or_default()))
    }

    fn say(&mut self, message: Message) -> Next {
        self.walk.is_unanswered = false;
        self.ask(Phase::Saying, |node| Step::Say { node, message })
    }

    pub(super) fn jump(&mut self, target: &str) -> Next {
        self.move_to(target, None, Cause::Jump, None)
    }

    /// Makes the assignments of the present node. An assignment without a value is skipped.
    pub(super) fn update(&mut self, answers: &[Option<Value>]) {
        let Some(NodeKind::UpdateState { updates }) = self.kind() else {
            return;
        };
        let mut answers = answers.iter();
        for update in updates {
            if let Some(value) = update.expression.value(&self.scope(), &mut answers) {
                self.walk.set(&update.variable_name, value);
            }
        }
    }

    /// Sets the variables of the present node that the words tell by themselves: choices, and a number, or yes or no,
    /// if only one variable can mean it.
    pub(super) fn extract(&mut self, said: &str) {
        let graph = self.graph;
        let Some(at) = self.walk.at.as_deref() else { return };
        let entities = graph.extracts(at);
        let missing = self.missing();
        for (name, entity) in entities {
            let is_alike = |(_, other): &&(String, Entity)| other.kind == entity.kind && other.allowed.is_empty();
            let is_certain = match (entity.allowed.is_empty(), entity.kind) {
                (false, _) => true,
                (true, EntityKind::String) => false,
                (true, _) => missing.contains(name) && entities.iter().filter(is_alike).count() == 1,
            };
            if let Some(value) = is_certain.then(|| judge::told(entity, said)).flatten() {
                self.walk.set(name, value);
            }
        }
    }

    /// Returns the names of the variables that the present node extracts and that have no value yet.
    fn missing(&self) -> Vec<String> {
        let graph = self.graph;
        let entities = self.walk.at.as_deref().map_or(&[][..], |at| graph.extracts(at));
        let missing = entities
            .iter()
            .filter(|(name, _)| template::is_blank(&self.scope().get(name)));
        missing.map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether the model can be asked about the conversation.
    fn may_ask(&self) -> bool {
        self.walk.has_spoken && !self.walk.has_missed
    }

    /// Leaves the present node, which is done: by the first way that holds, after asking the model if a way depends
    /// on it. `heard` says that the caller's turn ended.
    pub(super) fn leave(&mut self, heard: bool) -> Next {
        let may_ask = self.may_ask()
            && (heard || matches!(self.kind(), Some(NodeKind::Tool { .. } | NodeKind::UpdateState { .. })));
        let missing = if heard { self.missing() } else { Vec::new() };
        if may_ask && !missing.is_empty() {
            return self.judge(heard, missing);
        }
        let found = self.first_way(&[]);
        if let Some(way) = found.way {
            return self.take(way);
        }
        let candidates = self.candidates(heard);
        match (may_ask, found.is_open || !candidates.is_empty()) {
            (true, true) => self.judge(heard, Vec::new()),
            (false, _) if found.is_open => self.rest(),
            _ => self.otherwise(found.fallback),
        }
    }

    /// Leaves the present node, which could not be entered.
    pub(super) fn fail(&mut self) -> Next {
        self.walk.result = Some(false);
        self.walk.is_unanswered = true;
        let found = self.first_way(&[]);
        match found.way {
            Some(way) => self.take(way),
            None => self.otherwise(found.fallback),
        }
    }

    /// Leaves the present node by the model's answer.
    pub(super) fn decide(
        &mut self,
        heard: bool,
        extracts: &[String],
        choice: Choice,
        values: &[Option<Value>],
    ) -> Next {
        let graph = self.graph;
        let (answers, extracted) = values.split_at(self.questions().len().min(values.len()));
        let entities = self.walk.at.as_deref().map_or(&[][..], |at| graph.extracts(at));
        for (name, value) in extracts.iter().zip(extracted) {
            let entity = entities
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, entity)| entity);
            if let Some(value) = entity
                .zip(value.as_ref())
                .and_then(|(entity, value)| checked(entity, value))
            {
                self.walk.set(name, value);
            }
        }
        let found = self.first_way(answers);
        if let Some(way) = found.way {
            return self.take(way);
        }
        let candidates = self.candidates(heard);
        match choice {
            Choice::Candidate(index) => match candidates.get(index) {
                Some(candidate) => self.follow(candidate),
                None => self.rest(),
            },
            Choice::Missed if found.is_open => self.rest(),
            Choice::Stay | Choice::Missed => self.otherwise(found.fallback),
        }
    }

    fn follow(&mut self, candidate: &Candidate) -> Next {
        let way = candidate.edge.as_ref().map(|edge| Way {
            edge: edge.clone(),
            to: candidate.to.clone(),
            backward: candidate.backward,
        });
        if let Some(way) = &way {
            return self.take(way);
        }
        let global = self.graph.node(&candidate.to).and_then(|node| node.global.as_ref());
        if let Some(global) = global.filter(|_| self.walk.hops < MOST_HOPS) {
            self.walk.cooldowns.insert(candidate.to.clone(), global.cooldown_turns);
            if let Some(at) = self.walk.at.clone().filter(|_| self.walk.back.is_none()) {
                let home = self.walk.home.clone();
                self.walk.back = Some(Place { at, home });
            }
        }
        self.move_to(&candidate.to, None, Cause::Global, Some(&candidate.condition))
    }

    /// Goes on if no condition holds: by an edge for that, back from a global node, or, after a failure, back to where
    /// the agent talked last. Otherwise the call stays.
    fn otherwise(&mut self, fallback: Option<&Way>) -> Next {
        if let Some(way) = fallback {
            return self.take(way);
        }
        let at = self.walk.at.clone();
        let node = at.as_deref().and_then(|at| self.graph.node(at));
        let goes_back = node.is_some_and(|node| node.global.as_ref().is_some_and(|global| global.go_back));
        if goes_back && let Some(place) = self.walk.back.take() {
            return self.go_back(place);
        }
        if self.walk.result == Some(false)
            && let Some(home) = self.walk.home.clone().filter(|home| at.as_ref() != Some(home))
        {
            self.hop_without_entering(home, Cause::NotEntered);
        }
        self.rest()
    }

    /// Returns to where a global node was reached from, with the agent as it was there.
    fn go_back(&mut self, Place { at, home }: Place) -> Next {
        let node = home.as_deref().or(self.graph.start()).unwrap_or(&at).to_owned();
        self.hop_without_entering(at, Cause::GoBack);
        self.walk.home = home;
        self.walk.phase = Phase::Talking;
        let reply = std::mem::take(&mut self.walk.is_unanswered);
        Next::Stop(Step::Adopt { node, reply })
    }

    fn hop_without_entering(&mut self, to: String, cause: Cause) {
        self.hops.push(Hop {
            from: self.walk.at.replace(to.clone()),
            to,
            edge: None,
            backward: false,
            cause,
            judged: None,
        });
        self.walk.result = None;
    }

    /// Asks the model for a choice among the ways that depend on it, and for values.
    fn judge(&mut self, heard: bool, extracts: Vec<String>) -> Next {
        let graph = self.graph;
        let candidates = self.candidates(heard);
        let mut questions: Vec<Question> = self.questions().into_iter().cloned().collect();
        let entities = self.walk.at.as_deref().map_or(&[][..], |at| graph.extracts(at));
        let asked = entities.iter().filter(|(name, _)| extracts.contains(name));
        questions.extend(asked.map(|(name, entity)| Question::of(name, entity)));
        self.walk.phase = Phase::Judging { heard, extracts };
        Next::Stop(Step::Judge { candidates, questions })
    }
}
