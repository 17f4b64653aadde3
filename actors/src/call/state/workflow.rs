//! The conversation graph of the agent. The walk is asked before the model: when the user's turn ends, when the words of
//! a node were heard, and when its tools have answered.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    Effect, Phase, Rules, State, event_fact,
    node_steps::Progress,
    router::{Asked, words_in},
    speculation::Waste,
};
use domain::{
    id::AgentId,
    ports::{
        language_model::Speaker,
        store::{EventFact, TOOL, TurnFact, WORKFLOW_HOP, last_handed_over},
    },
    workflow::{Choice, Graph, HandOver, Input, Moves, Step, Walk},
};

/// Mark of a recorded walk: words of the user were still to be judged.
const UNJUDGED: &str = "unjudged";

/// Graph of an agent, and what a walk through it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphRules {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Id of the agent.
    pub agent: AgentId,
    /// Values of the placeholders.
    pub known: Arc<BTreeMap<String, String>>,
    /// Whether conditions are judged by the words that were said, because no model can be asked.
    pub by_words: bool,
}

/// Walk of a call through the graph of its agent.
#[derive(Debug, Clone)]
pub(super) struct Walking {
    pub(super) walk: Walk,
    /// Input that follows once the agent's turn is over, or at the end of the user's if that is sooner.
    pub(super) due: Option<Input<'static>>,
    /// Question on whose answer the call waits.
    pub(super) asked: Option<Asked>,
    /// Question made in a pause of the user.
    pub(super) ahead: Option<Asked>,
    /// Number of the last question, and of the last choice of arguments.
    pub(super) number: u64,
    /// Tools of the present node.
    pub(super) tools: Progress,
    /// Node whose changes of the agent are in use.
    adopted: Option<String>,
    /// Words that were not judged, because the agent spoke first.
    pub(super) unjudged: Option<String>,
    /// Words that the present turn ended with, and whether they were damaged.
    turn: Option<(String, bool)>,
    /// Whether the user's last words were judged.
    pub(super) judged: bool,
}

impl Walking {
    /// Creates the walk of a call that begins with these rules, if their agent has a graph.
    pub(super) fn of(rules: &Rules) -> Option<Box<Self>> {
        let rules = rules.graph.as_ref()?;
        Some(Self::new(Walk::new(rules.agent), Input::Begin))
    }

    fn new(walk: Walk, due: Input<'static>) -> Box<Self> {
        Box::new(Self {
            adopted: walk.adopted().map(str::to_owned),
            walk,
            due: Some(due),
            asked: None,
            ahead: None,
            number: 0,
            tools: Progress::default(),
            unjudged: None,
            turn: None,
            judged: false,
        })
    }

    /// Returns whether the call waits for a tool of the present node.
    pub(super) fn awaits_tools(&self) -> bool {
        self.tools != Progress::default()
    }
}

impl State {
    /// Returns the graph of the present agent.
    pub fn graph(&self) -> Option<&GraphRules> {
        self.rules.graph.as_ref()
    }

    /// Returns the id of the node in which the call is.
    pub fn node(&self) -> Option<&str> {
        self.walking.as_ref()?.walk.at()
    }

    /// Returns the id of the node whose changes of the agent are in use.
    pub fn adopted(&self) -> Option<&str> {
        self.walking.as_ref()?.adopted.as_deref()
    }

    /// Uses a node's changes of the agent, or none.
    pub(super) fn adopt_node(&mut self, node: Option<&str>) {
        if let Some(walking) = &mut self.walking
            && walking.adopted.as_deref() != node
        {
            walking.adopted = node.map(str::to_owned);
            self.fx.push(Effect::AdoptNode(walking.adopted.clone()));
        }
    }

    /// Uses the changes of the node in which the agent talks, after a message with changes of its own.
    fn adopt_home(&mut self) {
        let home = self
            .walking
            .as_ref()
            .and_then(|walking| walking.walk.adopted().map(str::to_owned));
        self.adopt_node(home.as_deref());
    }

    /// Returns whether the call waits for an answer that its walk needs.
    pub(super) fn is_walking(&self) -> bool {
        let walking = self.walking.as_ref();
        walking.is_some_and(|walking| walking.asked.is_some() || walking.awaits_tools())
    }

    /// Enters the graph of the agent that takes the call over, if it has one.
    pub(super) fn enter_graph(&mut self, to: &HandOver) {
        let present = self.walking.take();
        self.walking = self.rules.graph.as_ref().map(|rules| {
            let walk = present.map_or_else(|| Walk::new(rules.agent), |present| present.walk.handed_to(to));
            Walking::new(walk, Input::Begin)
        });
    }

    /// Goes on where another process left the walk.
    pub(super) fn resume_walk(&mut self, events: &[EventFact], turns: &[TurnFact]) {
        let (Some(rules), Some(walking)) = (&self.rules.graph, &mut self.walking) else {
            return;
        };
        let hop = events.iter().rposition(|event| event.name == WORKFLOW_HOP);
        let Some(last) = hop.max(last_handed_over(events)) else {
            return;
        };
        let at_ms = events[last].at_ms;
        let mut detail: Value = serde_json::from_str(&events[last].detail).unwrap_or_default();
        let words_wait = detail["walk"][UNJUDGED] == true;
        let Ok(walk) = serde_json::from_value::<Walk>(detail["walk"].take()) else {
            return;
        };
        let done = done_after(walk.tools(&rules.graph), &events[last + 1..]).or_else(|| {
            let mut spoken = turns.iter().filter(|turn| turn.speaker == Speaker::Agent);
            let heard = spoken.any(|turn| turn.ended_ms > at_ms && !turn.interrupted);
            heard.then_some(true)
        });
        **walking = *Walking::new(walk, Input::Resumed { done });
        let heard = turns.iter().rfind(|turn| turn.speaker == Speaker::User);
        walking.judged = heard.is_some_and(|turn| at_ms >= turn.ended_ms) && !words_wait;
        self.fx.push(Effect::SetVariables(walking.walk.texts(&BTreeMap::new())));
    }

    /// Returns whether the agent acts on the input that is due, rather than waits for the user.
    pub(super) fn acts_next(&self) -> bool {
        let (Some(rules), Some(walking)) = (self.graph(), &self.walking) else {
            return false;
        };
        let mut walk = walking.walk.clone();
        let step = |due| walk.step(&rules.graph, &self.known(rules), due).step;
        let next = walking.due.as_ref().map(step);
        next.is_some_and(|step| !matches!(step, Step::Wait | Step::Adopt { reply: false, .. }))
    }

    /// Answers the user's words: by the walk if there is one, else by the model.
    pub(super) fn answer_words(&mut self) {
        if self.discloses_before_answer() {
            return;
        }
        let Some(walking) = &mut self.walking else {
            return self.think();
        };
        let waits_for_values = walking.asked.as_ref().is_some_and(|asked| asked.said.is_none());
        if waits_for_values || walking.awaits_tools() {
            self.user.unanswered = true;
            self.pause_reply();
            return;
        }
        walking.asked = None;
        let said = self.new_words();
        self.user.unanswered |= said.is_some();
        if self.walk_due() {
            return;
        }
        let Some(walking) = &mut self.walking else { return };
        let unjudged = walking.unjudged.take();
        match said.or(unjudged) {
            Some(said) => {
                walking.judged = true;
                self.user.unanswered = false;
                if !self.walk(&Input::Heard { said: &said }) {
                    self.wait_in_node();
                }
            }
            None => self.think(),
        }
    }

    /// Answers a turn that ended with these words.
    pub(super) fn answer_turn(&mut self, text: &str, damaged: bool) {
        if let Some(walking) = &mut self.walking {
            walking.turn = Some((text.to_owned(), damaged));
            self.answer_words();
        } else if !self.commit_early(text, damaged) {
            self.think();
        }
    }

    /// Keeps the user's last words to be judged once the agent has said something else.
    pub(super) fn judge_later(&mut self) {
        let words = self.last_words();
        if let Some(walking) = &mut self.walking {
            walking.unjudged = words;
        }
    }

    /// Forgets the words that wait for an answer, since something else answers them.
    pub(super) fn forget_words(&mut self) {
        self.user.unanswered = false;
        if let Some(walking) = &mut self.walking {
            walking.unjudged = None;
        }
    }

    /// Returns whether words of the user wait for an answer, or to be judged.
    pub(super) fn has_unanswered(&self) -> bool {
        let walking = self.walking.as_ref();
        self.user.unanswered || walking.is_some_and(|walking| walking.unjudged.is_some())
    }

    /// Returns the user's words since the agent's last ones.
    pub(super) fn last_words(&self) -> Option<String> {
        words_in(self.history.last_said())
    }

    /// Returns those of them that were not judged yet.
    fn new_words(&self) -> Option<String> {
        let judged = self.walking.as_ref().is_some_and(|walking| walking.judged);
        self.last_words().filter(|_| !judged)
    }

    /// Takes the input that is due. Returns false if there is none, or if the agent does nothing on it.
    pub(super) fn walk_due(&mut self) -> bool {
        let due = self.walking.as_mut().and_then(|walking| walking.due.take());
        due.is_some_and(|due| self.walk(&due))
    }

    /// Takes what is due, then answers words that wait, or gives the user the turn.
    pub(super) fn go_on_walking(&mut self) {
        if self.walk_due() {
            return;
        }
        match self.has_unanswered() {
            true => self.answer_words(),
            false => self.wait_in_node(),
        }
    }

    /// Gives the user the turn. A filler that was begun ends first.
    fn wait_in_node(&mut self) {
        self.drop_early(Waste::Overtaken);
        match self.is_only_filled() {
            true => self.say_piece(String::new(), true),
            false => self.listen(),
        }
    }

    /// Gives the walk an input and carries out the steps that follow. Returns false if the agent now waits.
    pub(super) fn walk(&mut self, input: &Input<'_>) -> bool {
        let mut next = self.step(input);
        let mut heard = match input {
            Input::Heard { said } => Some(*said),
            _ => None,
        };
        while let Some(step) = next {
            let said = heard.take();
            next = match step {
                Step::Judge { candidates, questions } => {
                    let asked = Asked::new(said, candidates, questions, self.now_ms);
                    let Some((choice, values)) = self.judged(&asked) else {
                        self.ask_router(asked);
                        return true;
                    };
                    self.step(&Input::Judged { choice, values })
                }
                Step::Wait => {
                    self.adopt_home();
                    return false;
                }
                Step::Reply => {
                    self.adopt_home();
                    self.reply_in_node(None);
                    return true;
                }
                step => match self.carry_out(step) {
                    Ok(goes_on) => return goes_on,
                    Err(input) => self.step(&input),
                },
            };
        }
        false
    }

    /// Gives the walk an input, and records the moves. Returns `None` if there is no walk.
    fn step(&mut self, input: &Input<'_>) -> Option<Step> {
        let rules = self.rules.graph.clone()?;
        let (known, at_ms) = (self.known(&rules), self.elapsed_ms(self.now_ms));
        let words_wait = self.has_unanswered() || self.new_words().is_some();
        let walking = self.walking.as_mut()?;
        if !matches!(input, Input::Heard { .. }) {
            // An answer made ahead counts once.
            walking.ahead = None;
        }
        let asked_ms = walking.asked.take().map_or(self.now_ms, |asked| asked.at_ms);
        let before = walking.walk.clone();
        let Moves { hops, step } = walking.walk.step(&rules.graph, &known, input);
        let last = hops.len().saturating_sub(1);
        for (at, hop) in hops.iter().enumerate() {
            let mut detail = json!(hop);
            detail["ms"] = self.now_ms.saturating_sub(asked_ms).into();
            if at == last {
                detail["walk"] = json!(walking.walk);
                if words_wait {
                    detail["walk"][UNJUDGED] = true.into();
                }
                if let Step::End {
                    outcome: Some(outcome), ..
                } = &step
                {
                    detail["outcome"] = json!(outcome);
                }
            }
            self.fx.push(event_fact(WORKFLOW_HOP, at_ms, &detail));
        }
        if walking.walk.values() != before.values() {
            let texts = walking.walk.texts(&BTreeMap::new());
            self.keep_extracted(&rules.graph, before.at(), &texts);
            self.fx.push(Effect::SetVariables(texts));
        }
        Some(step)
    }

    /// Returns the values of the call: those of the placeholders and those collected.
    pub(super) fn known(&self, rules: &GraphRules) -> BTreeMap<String, String> {
        let mut known = BTreeMap::clone(&rules.known);
        known.extend(self.history.collected().clone());
        known
    }

    /// Keeps values that a node extracts as collected.
    fn keep_extracted(&mut self, graph: &Graph, node: Option<&str>, texts: &BTreeMap<String, String>) {
        let extracted = node.map_or(&[][..], |node| graph.extracts(node)).iter();
        for (name, text) in extracted.filter_map(|(name, _)| texts.get_key_value(name)) {
            // Values beyond the limit are not collected; the walk keeps them.
            if self.history.collect(&json!({ "entity": name, "value": text })).is_ok() {
                self.fx.push(Effect::KeepCollected);
            }
        }
    }

    /// Interrupts a reply in progress and waits in the agent's turn.
    pub(super) fn pause_reply(&mut self) {
        let unanswered = self.user.unanswered;
        if self.reply.open {
            self.fx.push(Effect::CancelReply);
        }
        self.begin_reply();
        self.reply.open = false;
        self.user.unanswered = unanswered;
        self.await_reply(self.now_ms);
    }

    /// Drops the question on whose answer the call waits, and a choice of arguments: the call goes another way. Tools
    /// that run go on.
    pub(super) fn stop_walking(&mut self) {
        let Some(walking) = &mut self.walking else { return };
        let asked = walking.asked.take();
        let chooses = walking.tools.stop_choosing();
        match &asked {
            _ if chooses => walking.due = Some(Input::NotEntered),
            Some(asked) if asked.said.is_some() => self.judge_later(),
            Some(asked) => {
                let (choice, values) = (Choice::Missed, vec![None; asked.questions.len()]);
                walking.due = Some(Input::Judged { choice, values });
            }
            None => {}
        }
        if chooses || asked.is_some() {
            self.fx.push(Effect::CancelRouter);
        }
    }

    /// Replies in the present node, or in the one that was adopted just now, with the reply made ahead there if there is
    /// one.
    pub(super) fn reply_in_node(&mut self, adopted: Option<&str>) {
        let turn = self.walking.as_mut().and_then(|walking| walking.turn.take());
        let early = self.early.as_ref();
        let fits = self.speech.is_none() && early.is_some_and(|early| early.node.as_deref() == adopted);
        let made = turn.is_some_and(|(text, damaged)| fits && self.commit_early(&text, damaged));
        if !made {
            self.think();
        }
    }

    /// Returns whether the agent has nothing else to do than to go on with the walk.
    pub(super) fn may_walk(&self) -> bool {
        match self.phase {
            Phase::Thinking => true,
            Phase::Speaking => self.is_only_filled(),
            // The user is about to answer a question that comes first.
            Phase::Listening => !self.user.speaking && !self.awaits_opt_out(),
            _ => false,
        }
    }
}

/// Returns the result of what a node with this number of tools had begun, from the events after the move to it; none
/// if they do not tell.
fn done_after(tools: usize, after: &[EventFact]) -> Option<bool> {
    if tools == 0 {
        let leaves = |event: &EventFact| matches!(event.name.as_str(), "transfer" | "agent_transfer");
        return after.iter().any(leaves).then_some(false);
    }
    let details = after.iter().filter(|event| event.name == TOOL);
    let successes = details.filter(|event| {
        let detail: Value = serde_json::from_str(&event.detail).unwrap_or_default();
        detail["ok"] == true
    });
    Some(successes.count() == tools)
}
