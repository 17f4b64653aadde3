//! An operator who has the call: a person of the team speaks with the user in place of the agent. The agent is
//! silent meanwhile, asks no model and runs no tool; the words of both are recorded.

use media::turn::endpointing::Utterance;
use serde_json::{Value, json};

use super::{Effect, Latency, Phase, State, event_fact};
use crate::call::CallTimer;
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
pub(super) struct Operator {
    by: String,
    /// Whether the call's time was up meanwhile.
    overdue: bool,
}

impl State {
    /// Returns the name of the operator who has the call, until it is given back.
    pub fn operator(&self) -> Option<&str> {
        let operator = self.operator.as_ref().filter(|_| !self.operator_leaves());
        operator.map(|operator| operator.by.as_str())
    }

    /// Returns whether an operator has the call and speaks with the user.
    pub(super) fn has_operator(&self) -> bool {
        self.phase == Phase::Operator { leaving: false }
    }

    /// Returns whether an operator gave the call back whose last words are still awaited.
    fn operator_leaves(&self) -> bool {
        self.phase == Phase::Operator { leaving: true }
    }

    /// Returns why an operator cannot take the call now.
    pub fn operate_refusal(&self) -> Option<OperateRefusal> {
        if self.operator_leaves() {
            return None;
        }
        let taken = self.operator().map(|by| OperateRefusal::Taken(by.to_owned()));
        taken.or_else(|| self.not_in_conversation().map(OperateRefusal::NotNow))
    }

    /// Gives the call to an operator, unless that is refused. What the agent has begun to say ends here.
    pub(super) fn operator_joined(&mut self, by: String) {
        if self.operate_refusal().is_some() {
            return;
        }
        let detail = json!({ "by": by });
        self.record(OPERATOR_JOINED, &detail);
        self.stop_reply();
        self.stop_taking_over();
        self.keep_keys();
        self.leave_listening();
        self.opt_out_not_answered();
        self.user.unanswered = false;
        self.latency = Latency::default();
        self.fx
            .extend([Effect::CancelTimer(CallTimer::PickUp), Effect::SeatOperator]);
        self.phase = Phase::Operator { leaving: false };
        // One who just gave the call back may have been overdue.
        let overdue = self.operator.take().is_some_and(|operator| operator.overdue);
        self.operator = Some(Operator { by, overdue });
    }

    /// Keeps the operator's words.
    pub(super) fn operator_said(&mut self, said: &Utterance) {
        if self.phase == Phase::Ended || said.text.trim().is_empty() {
            return;
        }
        if self.operator.is_some() {
            // The operator answers what waited for the agent.
            self.forget_words();
        }
        let span = self.span(said.started_ms, said.ended_ms);
        let turn = self.history.operator_said(&said.text, span, said.damaged);
        self.fx.push(Effect::Record(Fact::Turn(turn)));
    }

    /// Handles an operator who leaves. After a call that was given back, the agent waits until the operator's last
    /// words are known. Otherwise it speaks at once. A transfer in progress goes on.
    pub(super) fn operator_left(&mut self, left: OperatorLeft) {
        let Some(by) = self.operator().map(str::to_owned) else {
            return;
        };
        let speaks = self.has_operator();
        let gives_back = matches!(left, OperatorLeft::GivenBack { .. });
        let (reason, note) = match left {
            OperatorLeft::GivenBack { note } => ("given_back", note),
            OperatorLeft::Lost => ("lost", None),
            OperatorLeft::NotAllowed => ("not_allowed", None),
        };
        if speaks {
            self.fx.push(Effect::UnseatOperator);
            self.record_left(reason);
        } else {
            self.operator_leaves_transfer(reason);
        }
        if let Some(note) = note {
            self.keep_note(&by, note);
        }
        if speaks && gives_back {
            self.phase = Phase::Operator { leaving: true };
        } else if speaks {
            self.agent_is_back(true);
        }
    }

    /// Gives the call back to its operator after a transfer that failed. Returns false if it has none.
    pub(super) fn operator_goes_on(&mut self, overdue: bool) -> bool {
        let Some(operator) = &mut self.operator else {
            return false;
        };
        operator.overdue |= overdue;
        self.phase = Phase::Operator { leaving: false };
        true
    }

    /// Gives the call back to the agent, since all that the operator said is known.
    pub(super) fn operator_silent(&mut self) {
        if self.operator_leaves() {
            self.agent_is_back(false);
        }
    }

    /// Notes that the call goes on without its operator, if it has one. Returns whether the call's time was up
    /// meanwhile.
    pub(super) fn operator_gone(&mut self, reason: &str) -> bool {
        if self.operator().is_some() {
            self.record_left(reason);
            self.fx.push(Effect::UnseatOperator);
        }
        self.operator.take().is_some_and(|operator| operator.overdue)
    }

    /// Notes that the call's time is up. The operator may finish.
    pub(super) fn overdue_for_operator(&mut self) {
        if let Some(operator) = &mut self.operator {
            operator.overdue = true;
        }
    }

    fn record_left(&mut self, reason: &str) {
        self.fx
            .push(left(self.operator(), reason, self.elapsed_ms(self.now_ms)));
    }

    fn agent_is_back(&mut self, lost: bool) {
        let overdue = self.operator.take().is_some_and(|operator| operator.overdue);
        self.phase = Phase::Speaking;
        self.reply.protected = false;
        self.new_turn();
        if overdue {
            self.time_is_up();
        } else if let Some(why) = self.leg.deaf.take() {
            self.give_up(&why);
        } else if lost {
            self.say_back_with_you();
        } else if self.user.speaking && !self.must_disclose() {
            self.listen();
        } else {
            self.answer_words();
        }
    }

    /// Says that the operator's connection was lost. The model is asked once this was heard.
    pub(super) fn say_back_with_you(&mut self) {
        self.user.unanswered = true;
        self.say_all(self.rules.phrases.back_with_you, false);
    }
}

/// Returns the record of an operator's end.
pub(super) fn left(by: Option<&str>, reason: &str, at_ms: i64) -> Effect {
    event_fact(OPERATOR_LEFT, at_ms, &json!({ "by": by, "reason": reason }))
}

/// Returns the name of the operator who had the call after these events.
pub(super) fn operator_after(events: &[EventFact]) -> Option<String> {
    let mut told = events.iter().rev();
    let last = told.find(|event| [OPERATOR_JOINED, OPERATOR_LEFT].contains(&event.name.as_str()))?;
    let detail: Value = serde_json::from_str(&last.detail).unwrap_or_default();
    (last.name == OPERATOR_JOINED).then(|| detail["by"].as_str().unwrap_or_default().to_owned())
}
