//! Carries out the steps of a walk: replies, tools, transfers, hand-overs, and the end.

use crate::call::state::{
    Effect, State, Waste, another_agent::HandoverWish, filler, reply, speculation, tools, transfer, transfer::Pending,
    walking,
};
use domain::{
    agent::UsableTransfer,
    id::ToolId,
    pieces::{has_words, spoken},
    ports::language_model::{HistoryItem, Speaker},
    template::{self, Place},
    workflow::{HandOver, Input, Message, Step},
};
use serde_json::Value;

/// Tools of the present node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of the choice of arguments in progress.
    choosing: Option<u64>,
    /// Runs in progress.
    runs: Vec<u64>,
    failed: bool,
}

impl Progress {
    /// Forgets a choice of arguments. Returns whether there was one.
    pub fn stop_choosing(&mut self) -> bool {
        self.choosing.take().is_some()
    }
}

/// Carries out a step in which the agent acts. Returns whether its turn goes on, or the walk's next input if there
/// is nothing to carry out.
pub fn carry_out(call: &mut State, step: Step) -> Result<bool, Input<'static>> {
    if let Step::Adopt { node, reply: true } = step {
        walking::adopt_node(call, Some(&node));
        walking::reply_in_node(call, Some(&node));
        return Ok(true);
    }
    // The reply made ahead is for the node before.
    speculation::drop_early(call, Waste::Overtaken);
    match step {
        Step::Adopt { node, .. } => {
            walking::adopt_node(call, Some(&node));
            return Ok(false);
        }
        Step::Say { node, message } => say_message(call, &node, &message)?,
        Step::RunTools { tools, .. } => choose_arguments(call, tools),
        Step::Transfer { transfer, .. } => transfer_from_node(call, transfer),
        Step::HandTo { .. } if call.handovers.are_used_up() => return Err(Input::NotEntered),
        Step::HandTo { to, .. } => hand_to(call, to),
        Step::End { .. } => end_in_node(call),
        Step::Judge { .. } | Step::Reply | Step::Wait => return Ok(false),
    }
    Ok(true)
}

/// Takes an input once the present turn is over.
pub fn expect(call: &mut State, input: Input<'static>) {
    if let Some(walking) = &mut call.walking {
        walking.due = Some(input);
    }
}

/// Returns a text as it is spoken, with its placeholders filled in.
fn in_words(call: &State, text: &str) -> String {
    let known = call
        .graph()
        .map(|rules| walking::known(call, rules))
        .unwrap_or_default();
    let texts = call.walking.as_ref().map(|walking| walking.walk.texts(&known));
    spoken(&template::render(Place::Greeting, text, &texts.unwrap_or(known)))
}

fn say_message(call: &mut State, node: &str, message: &Message) -> Result<(), Input<'static>> {
    if call.graph().is_some_and(|rules| rules.graph.awaits_answer(node)) {
        // Words before the question are no answer to it.
        walking::forget_words(call);
    } else if call.user.unanswered {
        walking::judge_later(call);
    }
    if call.graph().is_some_and(|rules| rules.graph.changes_message(node)) {
        walking::adopt_node(call, Some(node));
    }
    let text = match message {
        Message::Prompt { .. } => {
            expect(call, Input::Spoken);
            reply::think(call);
            return Ok(());
        }
        Message::Literal { text } => in_words(call, text),
    };
    if !has_words(&text) {
        return Err(Input::Spoken);
    }
    expect(call, Input::Spoken);
    reply::begin_reply(call);
    say_in_node(call, text);
    reply::reply_ended(call);
    Ok(())
}

/// Says a fixed text as the reply that was begun.
fn say_in_node(call: &mut State, text: String) {
    reply::speak_piece(call, text.into());
    if let Some(speech) = &mut call.speech {
        speech.by_model = false;
    }
}

fn choose_arguments(call: &mut State, tools: Vec<ToolId>) {
    walking::pause_reply(call);
    let Some(walking) = &mut call.walking else { return };
    walking.number += 1;
    let number = walking.number;
    walking.tools = Progress {
        choosing: Some(number),
        ..Progress::default()
    };
    call.fx.push(Effect::ChooseArguments { number, tools });
}

/// Runs the tools of the node with the arguments that were chosen. If there are none, a tool is unavailable.
pub fn arguments_chosen(call: &mut State, number: u64, chosen: Vec<(String, Value)>) {
    let Some(walking) = call
        .walking
        .as_mut()
        .filter(|walking| walking.tools.choosing == Some(number))
    else {
        return;
    };
    walking.tools.choosing = None;
    if chosen.is_empty() {
        return tools_over(call, Input::NotEntered);
    }
    let runs = chosen.into_iter();
    let runs = runs
        .map(|(name, arguments)| tools::begin_run(call, (&name, arguments, None)))
        .collect();
    if let Some(walking) = &mut call.walking {
        walking.tools.runs = runs;
    }
}

/// Takes the end of a run. Returns false if the run is none of the node's.
pub fn node_tool_answered(call: &mut State, run: u64, successful: bool) -> bool {
    let Some(walking) = &mut call.walking else { return false };
    let Some(at) = walking.tools.runs.iter().position(|known| *known == run) else {
        return false;
    };
    walking.tools.runs.swap_remove(at);
    walking.tools.failed |= !successful;
    if walking.tools.runs.is_empty() {
        let successful = !walking.tools.failed;
        walking.tools = Progress::default();
        tools_over(call, Input::ToolsDone { successful });
    }
    true
}

/// Goes on with the walk, at once unless somebody else speaks or the audio is gone.
fn tools_over(call: &mut State, input: Input<'static>) {
    expect(call, input);
    if walking::may_walk(call) {
        walking::go_on_walking(call);
    }
}

fn transfer_from_node(call: &mut State, wanted: UsableTransfer) {
    expect(call, Input::NotEntered);
    transfer::person_wanted(call);
    reply::begin_reply(call);
    call.reply.protected = call.rules.transfer_protected;
    call.reply.transfer = Some(Pending { wanted, message: None });
    reply::reply_ended(call);
}

fn hand_to(call: &mut State, to: HandOver) {
    expect(call, Input::NotEntered);
    reply::begin_reply(call);
    call.reply.protected = call.rules.agents_protected;
    let message = to.message.as_deref().map(|message| in_words(call, message));
    let to = HandOver {
        message: message.filter(|message| has_words(message)),
        ..to
    };
    call.reply.another = Some(HandoverWish { run: None, to });
    reply::reply_ended(call);
}

/// Ends the call, with a goodbye if the user spoke last.
fn end_in_node(call: &mut State) {
    // An end that something prevents is made up for.
    expect(call, Input::Resumed { done: None });
    reply::begin_reply(call);
    call.reply.end_call = true;
    call.reply.protected = true;
    let agent_spoke_last = matches!(
        call.history.last_said(),
        Some(HistoryItem::Said {
            speaker: Speaker::Agent,
            interrupted: false,
            ..
        })
    );
    if !agent_spoke_last || filler::is_only_filled(call) {
        let words = call.rules.phrases.goodbye().to_owned();
        say_in_node(call, words);
    }
    reply::reply_ended(call);
}
