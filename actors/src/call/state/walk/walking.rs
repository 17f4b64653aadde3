//! The conversation graph of the agent. The walk is asked before the model: when the user's turn ends, when the words of
//! a node were heard, and when its tools have answered.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::call::state::{
    Effect, GraphRules, Phase, State, Walking, Waste, disclosing, event_fact, filler, node_steps, opt_out, reply,
    router, router::Asked, router::words_in, speculation, speech, talk,
};
use domain::{
    ports::{
        language_model::Speaker,
        store::{EventFact, TOOL, TurnFact, WORKFLOW_HOP, last_handed_over},
    },
    workflow::{Choice, Graph, HandOver, Input, Moves, Step, Walk},
};

/// Mark of a recorded walk: words of the user were still to be judged.
const UNJUDGED: &str = "unjudged";

/// Uses a node's changes of the agent, or none.
pub fn adopt_node(call: &mut State, node: Option<&str>) {
    if let Some(walking) = &mut call.walking
        && walking.adopted.as_deref() != node
    {
        walking.adopted = node.map(str::to_owned);
        call.fx.push(Effect::AdoptNode(walking.adopted.clone()));
    }
}

/// Uses the changes of the node in which the agent talks, after a message with changes of its own.
fn adopt_home(call: &mut State) {
    let home = call
        .walking
        .as_ref()
        .and_then(|walking| walking.walk.adopted().map(str::to_owned));
    adopt_node(call, home.as_deref());
}

/// Returns whether the call waits for an answer that its walk needs.
pub fn is_walking(call: &State) -> bool {
    let walking = call.walking.as_ref();
    walking.is_some_and(|walking| walking.asked.is_some() || walking.awaits_tools())
}

/// Enters the graph of the agent that takes the call over, if it has one.
pub fn enter_graph(call: &mut State, to: &HandOver) {
    let present = call.walking.take();
    call.walking = call.rules.graph.as_ref().map(|rules| {
        let walk = present.map_or_else(|| Walk::new(rules.agent), |present| present.walk.handed_to(to));
        Walking::new(walk, Input::Begin)
    });
}

/// Goes on where another process left the walk.
pub fn resume_walk(call: &mut State, events: &[EventFact], turns: &[TurnFact]) {
    let (Some(rules), Some(walking)) = (&call.rules.graph, &mut call.walking) else {
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
    call.fx.push(Effect::SetVariables(walking.walk.texts(&BTreeMap::new())));
}

/// Returns whether the agent acts on the input that is due, rather than waits for the user.
pub fn acts_next(call: &State) -> bool {
    let (Some(rules), Some(walking)) = (call.graph(), &call.walking) else {
        return false;
    };
    let mut walk = walking.walk.clone();
    let step = |due| walk.step(&rules.graph, &known(call, rules), due).step;
    let next = walking.due.as_ref().map(step);
    next.is_some_and(|step| !matches!(step, Step::Wait | Step::Adopt { reply: false, .. }))
}

/// Answers the user's words: by the walk if there is one, else by the model.
pub fn answer_words(call: &mut State) {
    if disclosing::discloses_before_answer(call) {
        return;
    }
    let Some(walking) = &mut call.walking else {
        return reply::think(call);
    };
    let waits_for_values = walking.asked.as_ref().is_some_and(|asked| asked.said.is_none());
    if waits_for_values || walking.awaits_tools() {
        call.user.unanswered = true;
        pause_reply(call);
        return;
    }
    walking.asked = None;
    let said = new_words(call);
    call.user.unanswered |= said.is_some();
    if walk_due(call) {
        return;
    }
    let Some(walking) = &mut call.walking else { return };
    let unjudged = walking.unjudged.take();
    match said.or(unjudged) {
        Some(said) => {
            walking.judged = true;
            call.user.unanswered = false;
            if !walk(call, &Input::Heard { said: &said }) {
                wait_in_node(call);
            }
        }
        None => reply::think(call),
    }
}

/// Answers a turn that ended with these words.
pub fn answer_turn(call: &mut State, text: &str, damaged: bool) {
    if let Some(walking) = &mut call.walking {
        walking.turn = Some((text.to_owned(), damaged));
        answer_words(call);
    } else if !speculation::commit_early(call, text, damaged) {
        reply::think(call);
    }
}

/// Keeps the user's last words to be judged once the agent has said something else.
pub fn judge_later(call: &mut State) {
    let words = last_words(call);
    if let Some(walking) = &mut call.walking {
        walking.unjudged = words;
    }
}

/// Forgets the words that wait for an answer, since something else answers them.
pub fn forget_words(call: &mut State) {
    call.user.unanswered = false;
    if let Some(walking) = &mut call.walking {
        walking.unjudged = None;
    }
}

/// Returns whether words of the user wait for an answer, or to be judged.
pub fn has_unanswered(call: &State) -> bool {
    let walking = call.walking.as_ref();
    call.user.unanswered || walking.is_some_and(|walking| walking.unjudged.is_some())
}

/// Returns the user's words since the agent's last ones.
pub fn last_words(call: &State) -> Option<String> {
    words_in(call.history.last_said())
}

/// Returns those of them that were not judged yet.
fn new_words(call: &State) -> Option<String> {
    let judged = call.walking.as_ref().is_some_and(|walking| walking.judged);
    last_words(call).filter(|_| !judged)
}

/// Takes the input that is due. Returns false if there is none, or if the agent does nothing on it.
pub fn walk_due(call: &mut State) -> bool {
    let due = call.walking.as_mut().and_then(|walking| walking.due.take());
    due.is_some_and(|due| walk(call, &due))
}

/// Takes what is due, then answers words that wait, or gives the user the turn.
pub fn go_on_walking(call: &mut State) {
    if walk_due(call) {
        return;
    }
    match has_unanswered(call) {
        true => answer_words(call),
        false => wait_in_node(call),
    }
}

/// Gives the user the turn. A filler that was begun ends first.
fn wait_in_node(call: &mut State) {
    speculation::drop_early(call, Waste::Overtaken);
    match filler::is_only_filled(call) {
        true => speech::say_piece(call, String::new(), true),
        false => talk::listen(call),
    }
}

/// Gives the walk an input and carries out the steps that follow. Returns false if the agent now waits.
pub fn walk(call: &mut State, input: &Input<'_>) -> bool {
    let mut next = advance(call, input);
    let mut heard = match input {
        Input::Heard { said } => Some(*said),
        _ => None,
    };
    while let Some(step) = next {
        let said = heard.take();
        next = match step {
            Step::Judge { candidates, questions } => {
                let asked = Asked::new(said, candidates, questions, call.now_ms);
                let Some((choice, values)) = router::judged(call, &asked) else {
                    router::ask_router(call, asked);
                    return true;
                };
                advance(call, &Input::Judged { choice, values })
            }
            Step::Wait => {
                adopt_home(call);
                return false;
            }
            Step::Reply => {
                adopt_home(call);
                reply_in_node(call, None);
                return true;
            }
            step => match node_steps::carry_out(call, step) {
                Ok(goes_on) => return goes_on,
                Err(input) => advance(call, &input),
            },
        };
    }
    false
}

/// Gives the walk an input, and records the moves. Returns `None` if there is no walk.
fn advance(call: &mut State, input: &Input<'_>) -> Option<Step> {
    let rules = call.rules.graph.clone()?;
    let (known, at_ms) = (known(call, &rules), call.elapsed_ms(call.now_ms));
    let words_wait = has_unanswered(call) || new_words(call).is_some();
    let walking = call.walking.as_mut()?;
    if !matches!(input, Input::Heard { .. }) {
        // An answer made ahead counts once.
        walking.ahead = None;
    }
    let asked_ms = walking.asked.take().map_or(call.now_ms, |asked| asked.at_ms);
    let before = walking.walk.clone();
    let Moves { hops, step } = walking.walk.step(&rules.graph, &known, input);
    let last = hops.len().saturating_sub(1);
    for (at, hop) in hops.iter().enumerate() {
        let mut detail = json!(hop);
        detail["ms"] = call.now_ms.saturating_sub(asked_ms).into();
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
        call.fx.push(event_fact(WORKFLOW_HOP, at_ms, &detail));
    }
    if walking.walk.values() != before.values() {
        let texts = walking.walk.texts(&BTreeMap::new());
        keep_extracted(call, &rules.graph, before.at(), &texts);
        call.fx.push(Effect::SetVariables(texts));
    }
    Some(step)
}

/// Returns the values of the call: those of the placeholders and those collected.
pub fn known(call: &State, rules: &GraphRules) -> BTreeMap<String, String> {
    let mut known = BTreeMap::clone(&rules.known);
    known.extend(call.history.collected().clone());
    known
}

/// Keeps values that a node extracts as collected.
fn keep_extracted(call: &mut State, graph: &Graph, node: Option<&str>, texts: &BTreeMap<String, String>) {
    let extracted = node.map_or(&[][..], |node| graph.extracts(node)).iter();
    for (name, text) in extracted.filter_map(|(name, _)| texts.get_key_value(name)) {
        // Values beyond the limit are not collected; the walk keeps them.
        if call.history.collect(&json!({ "entity": name, "value": text })).is_ok() {
            call.fx.push(Effect::KeepCollected);
        }
    }
}

/// Interrupts a reply in progress and waits in the agent's turn.
pub fn pause_reply(call: &mut State) {
    let unanswered = call.user.unanswered;
    if call.reply.open {
        call.fx.push(Effect::CancelReply);
    }
    reply::begin_reply(call);
    call.reply.open = false;
    call.user.unanswered = unanswered;
    filler::await_reply(call);
}

/// Drops the question on whose answer the call waits, and a choice of arguments: the call goes another way. Tools
/// that run go on.
pub fn stop_walking(call: &mut State) {
    let Some(walking) = &mut call.walking else { return };
    let asked = walking.asked.take();
    let chooses = walking.tools.stop_choosing();
    match &asked {
        _ if chooses => walking.due = Some(Input::NotEntered),
        Some(asked) if asked.said.is_some() => judge_later(call),
        Some(asked) => {
            let (choice, values) = (Choice::Missed, vec![None; asked.questions.len()]);
            walking.due = Some(Input::Judged { choice, values });
        }
        None => {}
    }
    if chooses || asked.is_some() {
        call.fx.push(Effect::CancelRouter);
    }
}

/// Replies in the present node, or in the one that was adopted just now, with the reply made ahead there if there is
/// one.
pub fn reply_in_node(call: &mut State, adopted: Option<&str>) {
    let turn = call.walking.as_mut().and_then(|walking| walking.turn.take());
    let early = call.early.as_ref();
    let fits = call.speech.is_none() && early.is_some_and(|early| early.node.as_deref() == adopted);
    let made = turn.is_some_and(|(text, damaged)| fits && speculation::commit_early(call, &text, damaged));
    if !made {
        reply::think(call);
    }
}

/// Returns whether the agent has nothing else to do than to go on with the walk.
pub fn may_walk(call: &State) -> bool {
    match call.phase {
        Phase::Thinking => true,
        Phase::Speaking => filler::is_only_filled(call),
        // The user is about to answer a question that comes first.
        Phase::Listening => !call.user.speaking && !opt_out::awaits_opt_out(call),
        _ => false,
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
