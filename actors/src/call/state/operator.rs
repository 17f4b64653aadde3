//! An operator who has the call: a person of the team speaks with the user in place of the agent. The agent is
//! silent meanwhile, asks no model and runs no tool; the words of both are recorded.

use media::turn::endpointing::Utterance;
use serde_json::{Value, json};

use crate::call::CallTimer;
use crate::call::state::{
    Effect, Latency, Phase, State, another_agent, commands, disclosing, ending, event_fact, keys, opt_out, speech,
    talk, transfer, walking,
};
use domain::ports::store::{EventFact, Fact, OPERATOR_JOINED, OPERATOR_LEFT};

/// How an operator leaves a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorLeft {
    /// The operator gives the call back to the agent.
    GivenBack {
        /// Note that only the model reads.
        note: Option<String>,
    },
    /// The operator's connection is gone.
    Lost,
    /// The operator may no longer have the call.
    NotAllowed,
}

/// Reason why an operator does not get a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperateRefusal {
    /// Another operator, of this name, has the call.
    Taken(String),
    /// It is not possible now, for this reason.
    NotNow(String),
    /// This node does not hold the call.
    NotHere,
}

/// The operator who has the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    by: String,
    /// Whether the call's time was up meanwhile.
    overdue: bool,
}

/// Returns the name of the operator who has the call, until it is given back.
pub fn name(call: &State) -> Option<&str> {
    let operator = call.operator.as_ref().filter(|_| !operator_leaves(call));
    operator.map(|operator| operator.by.as_str())
}

/// Returns whether an operator has the call and speaks with the user.
pub fn has_operator(call: &State) -> bool {
    call.phase == Phase::Operator { leaving: false }
}

/// Returns whether an operator gave the call back whose last words are still awaited.
fn operator_leaves(call: &State) -> bool {
    call.phase == Phase::Operator { leaving: true }
}

/// Returns why an operator cannot take the call now.
pub fn refusal(call: &State) -> Option<OperateRefusal> {
    if operator_leaves(call) {
        return None;
    }
    let taken = name(call).map(|by| OperateRefusal::Taken(by.to_owned()));
    taken.or_else(|| commands::not_in_conversation(call).map(OperateRefusal::NotNow))
}

/// Gives the call to an operator, unless that is refused. What the agent has begun to say ends here.
pub fn operator_joined(call: &mut State, by: String) {
    if refusal(call).is_some() {
        return;
    }
    call.record(OPERATOR_JOINED, &json!({ "by": by }));
    ending::stop_reply(call);
    another_agent::stop_taking_over(call);
    keys::keep_keys(call);
    talk::leave_listening(call);
    opt_out::opt_out_not_answered(call);
    call.user.unanswered = false;
    call.latency = Latency::default();
    call.fx
        .extend([Effect::CancelTimer(CallTimer::PickUp), Effect::SeatOperator]);
    call.phase = Phase::Operator { leaving: false };
    // One who just gave the call back may have been overdue.
    let overdue = call.operator.take().is_some_and(|operator| operator.overdue);
    call.operator = Some(Operator { by, overdue });
}

/// Keeps the operator's words.
pub fn operator_said(call: &mut State, said: &Utterance) {
    if call.phase == Phase::Ended || said.text.trim().is_empty() {
        return;
    }
    if call.operator.is_some() {
        // The operator answers what waited for the agent.
        walking::forget_words(call);
    }
    let span = call.span(said.started_ms, said.ended_ms);
    let turn = call.history.operator_said(&said.text, span, said.damaged);
    call.fx.push(Effect::Record(Fact::Turn(turn)));
}

/// Handles an operator who leaves. After a call that was given back, the agent waits until the operator's last
/// words are known. Otherwise it speaks at once. A transfer in progress goes on.
pub fn operator_left(call: &mut State, left: OperatorLeft) {
    let Some(by) = name(call).map(str::to_owned) else {
        return;
    };
    let speaks = has_operator(call);
    let gives_back = matches!(left, OperatorLeft::GivenBack { .. });
    let (reason, note) = match left {
        OperatorLeft::GivenBack { note } => ("given_back", note),
        OperatorLeft::Lost => ("lost", None),
        OperatorLeft::NotAllowed => ("not_allowed", None),
    };
    if speaks {
        call.fx.push(Effect::UnseatOperator);
        record_left(call, reason);
    } else {
        transfer::operator_leaves_transfer(call, reason);
    }
    if let Some(note) = note {
        commands::keep_note(call, &by, note);
    }
    if speaks && gives_back {
        call.phase = Phase::Operator { leaving: true };
    } else if speaks {
        agent_is_back(call, true);
    }
}

/// Gives the call back to its operator after a transfer that failed. Returns false if it has none.
pub fn operator_goes_on(call: &mut State, overdue: bool) -> bool {
    let Some(operator) = &mut call.operator else {
        return false;
    };
    operator.overdue |= overdue;
    call.phase = Phase::Operator { leaving: false };
    true
}

/// Gives the call back to the agent, since all that the operator said is known.
pub fn operator_silent(call: &mut State) {
    if operator_leaves(call) {
        agent_is_back(call, false);
    }
}

/// Notes that the call goes on without its operator, if it has one. Returns whether the call's time was up
/// meanwhile.
pub fn operator_gone(call: &mut State, reason: &str) -> bool {
    if name(call).is_some() {
        record_left(call, reason);
        call.fx.push(Effect::UnseatOperator);
    }
    call.operator.take().is_some_and(|operator| operator.overdue)
}

/// Notes that the call's time is up. The operator may finish.
pub fn overdue_for_operator(call: &mut State) {
    if let Some(operator) = &mut call.operator {
        operator.overdue = true;
    }
}

fn record_left(call: &mut State, reason: &str) {
    call.fx.push(left(name(call), reason, call.elapsed_ms(call.now_ms)));
}

fn agent_is_back(call: &mut State, lost: bool) {
    let overdue = call.operator.take().is_some_and(|operator| operator.overdue);
    call.phase = Phase::Speaking;
    call.reply.protected = false;
    talk::new_turn(call);
    if overdue {
        ending::time_is_up(call);
    } else if let Some(why) = call.leg.deaf.take() {
        ending::give_up(call, &why);
    } else if lost {
        say_back_with_you(call);
    } else if call.user.speaking && !disclosing::must_disclose(call) {
        talk::listen(call);
    } else {
        walking::answer_words(call);
    }
}

/// Says that the operator's connection was lost. The model is asked once this was heard.
pub fn say_back_with_you(call: &mut State) {
    call.user.unanswered = true;
    let words = call.rules.phrases.back_with_you;
    speech::say_all(call, words, false);
}

/// Returns the record of an operator's end.
pub fn left(by: Option<&str>, reason: &str, at_ms: i64) -> Effect {
    event_fact(OPERATOR_LEFT, at_ms, &json!({ "by": by, "reason": reason }))
}

/// Returns the name of the operator who had the call after these events.
pub fn operator_after(events: &[EventFact]) -> Option<String> {
    let mut told = events.iter().rev();
    let last = told.find(|event| [OPERATOR_JOINED, OPERATOR_LEFT].contains(&event.name.as_str()))?;
    let detail: Value = serde_json::from_str(&last.detail).unwrap_or_default();
    (last.name == OPERATOR_JOINED).then(|| detail["by"].as_str().unwrap_or_default().to_owned())
}
