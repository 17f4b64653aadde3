//! The line pool's part in a call's life: start, routing, end and crash.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use ractor::{Actor, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use super::{Dialer, HeldClaims, LinesMessage, LinesNotice, LinesState, LostCall, late_leg::LateLeg, settle};
use crate::{
    attempt::CallPlan,
    call::{
        CallActor, CallArguments, CallCommand, CallMessage, CallReport, CallSnapshot, CommandAnswer, Event, LegRefusal,
        NoOutcome, Obstacle, OperateRefusal, OperatorLine,
    },
    supervision::{Reports, undelivered},
};
use domain::{
    id::AttemptId,
    ports::{
        store::Outcome,
        usage::{Meter, usage},
    },
};

/// Time the journal has to write the last facts of a crashed call to disk.
const FACTS_WITHIN: Duration = Duration::from_secs(2);

/// Outcome error of a call whose actor panicked.
pub const CALL_CRASHED: &str = "agent-error: call crashed";

impl LinesState {
    /// Starts a call on a line of its dialer. Without a line the claim is released, since nothing was dialed.
    pub(super) async fn dial(&mut self, me: &ActorRef<LinesMessage>, plan: CallPlan) {
        let attempt = plan.attempt.claim.attempt;
        let dialer = Dialer::from(plan.attempt.campaign);
        let held_back = self.with.gate.holds_back().is_some();
        if held_back {
            // Its line was granted for this call, which does not start.
            self.pool.give_back(dialer, 1);
        }
        if held_back || !self.pool.start(attempt, dialer, Instant::now()) {
            drop(HeldClaims::new(vec![plan.attempt], self.with.ports.store.clone()));
            self.tell(dialer, attempt, Err(NoOutcome::ItsOwn));
            return;
        }
        self.begin(me, plan, dialer).await;
    }

    /// Starts the call's actor on a line that is taken already. Returns false if the actor did not start; the
    /// call is then settled.
    pub(super) async fn begin(&mut self, me: &ActorRef<LinesMessage>, plan: CallPlan, dialer: Dialer) -> bool {
        let attempt = plan.attempt.claim.attempt;
        let meter = Meter::default();
        let lost = LostCall {
            meter: meter.clone(),
            ..LostCall::of(&plan, self.with.ports.clock.now(), CALL_CRASHED)
        };
        self.registry.insert(dialer, lost);
        let arguments = CallArguments {
            plan,
            with: self.with.clone(),
            lines: Reports::to(me, move |report| LinesMessage::Call { attempt, report }),
            meter,
        };
        match Actor::spawn_linked(None, CallActor::default(), arguments, me.get_cell()).await {
            Ok((call, _)) => {
                self.by_actor.insert(call.get_id(), attempt);
                self.calls.insert(attempt, call);
                true
            }
            Err(error) => {
                self.child_gone(me, attempt, Some(error.to_string()));
                false
            }
        }
    }

    /// Passes a message from a carrier's webhook to a call of that carrier. If there is none, refuses the
    /// message in the call's name.
    pub(super) fn forward(&self, (attempt, carrier): (AttemptId, &'static str), message: CallMessage) {
        let call = self.calls.get(&attempt);
        let lost = match call.filter(|_| self.registry.is_placed_at(attempt, carrier)) {
            Some(call) => call.cast(message).err().and_then(undelivered),
            None => Some(message),
        };
        match lost {
            Some(CallMessage::Progress { proof, report, reply }) => {
                if let Some(late) = LateLeg::of((attempt, carrier), &proof, &report) {
                    // Not bound to this actor, since nobody else would hang the leg up.
                    tokio::spawn(late.hang_up(self.with.ports.clone()));
                }
                let _ = reply.send(Err(LegRefusal::UnknownCall));
            }
            Some(CallMessage::AskMedia { reply, .. } | CallMessage::Media { reply, .. }) => {
                let _ = reply.send(Err(LegRefusal::UnknownCall));
            }
            _ => {}
        }
    }

    /// Passes a client's command to a call.
    pub(super) fn command(&self, attempt: AttemptId, command: Box<CallCommand>, reply: RpcReplyPort<CommandAnswer>) {
        let message = CallMessage::Command { command, reply };
        let lost = match self.calls.get(&attempt) {
            Some(call) => call.cast(message).err().and_then(undelivered),
            None => Some(message),
        };
        if let Some(CallMessage::Command { reply, .. }) = lost {
            let _ = reply.send(CommandAnswer::NotHere);
        }
    }

    /// Lets a client follow a call.
    pub(super) fn follow(&self, attempt: AttemptId, message: CallMessage) {
        let lost = match self.calls.get(&attempt) {
            Some(call) => call.cast(message).err().and_then(undelivered),
            None => Some(message),
        };
        if let Some(CallMessage::Follow { reply, .. }) = lost {
            let _ = reply.send(None);
        }
    }

    /// Passes an operator's request on to a call.
    pub(super) fn operate(
        &self,
        attempt: AttemptId,
        by: String,
        reply: RpcReplyPort<Result<OperatorLine, OperateRefusal>>,
    ) {
        let message = CallMessage::Operate { by, reply };
        let lost = match self.calls.get(&attempt) {
            Some(call) => call.cast(message).err().and_then(undelivered),
            None => Some(message),
        };
        if let Some(CallMessage::Operate { reply, .. }) = lost {
            let _ = reply.send(Err(OperateRefusal::NotHere));
        }
    }

    /// Passes a question about a call on to it. If it is not here, nobody answers.
    pub(super) fn inspect_call(&self, attempt: AttemptId, reply: RpcReplyPort<CallSnapshot>) {
        let call = self.calls.get(&attempt);
        let _ = call.map(|call| call.cast(CallMessage::Inspect(reply)));
    }

    /// Handles a call's report.
    pub(super) fn told(&mut self, attempt: AttemptId, report: CallReport) {
        match report {
            CallReport::LegKnown(leg) => self.registry.leg_known(attempt, &leg),
            CallReport::Answered(at) => self.registry.answered(attempt, at),
            CallReport::NotDialed => self.pool.not_dialed(attempt),
            CallReport::MetObstacle(obstacle) => self.met(attempt, obstacle),
            CallReport::Ended(outcome) => self.ended(attempt, outcome),
            CallReport::Lost(claim) => self.forget(&[claim]),
        }
    }

    /// Frees the line of a call whose outcome is on disk. Repeated reports change nothing.
    pub(super) fn ended(&mut self, attempt: AttemptId, outcome: Result<Outcome, NoOutcome>) {
        self.calls.remove(&attempt);
        self.registry.remove(attempt);
        if let Some(dialer) = self.pool.end(attempt) {
            if dialer == Dialer::Inbound {
                self.announced.over(attempt);
            }
            self.tell(dialer, attempt, outcome);
        }
    }

    /// Passes a carrier's obstacle on to the call's dialer.
    fn met(&self, attempt: AttemptId, obstacle: Obstacle) {
        let dialer = self.pool.dialer_of(attempt);
        if let Some(requester) = dialer.and_then(|dialer| self.requesters.get(&dialer)) {
            requester.send(LinesNotice::MetObstacle(obstacle));
        }
    }

    fn tell(&self, dialer: Dialer, attempt: AttemptId, outcome: Result<Outcome, NoOutcome>) {
        if let Some(requester) = self.requesters.get(&dialer) {
            requester.send(LinesNotice::CallEnded { attempt, outcome });
        }
    }

    /// Handles the end of a call's actor. If the call has not reported its end, its leg is hung up and its
    /// outcome written here. The line stays taken until then.
    pub(super) fn child_gone(&mut self, me: &ActorRef<LinesMessage>, attempt: AttemptId, crash: Option<String>) {
        self.calls.remove(&attempt);
        let Some(mut lost) = self.registry.get(attempt) else {
            return;
        };
        lost.times.ended_at = Some(self.with.ports.clock.now());
        let crash = crash.unwrap_or_else(|| "stopped without an outcome".to_owned());
        tracing::error!(%attempt, crash, "call crashed");
        if let Some(usage) = usage(&lost.meter, 0) {
            self.with.journal.record(attempt, lost.ended.campaign, usage);
        }
        let (me, ports, journal) = (me.clone(), self.with.ports.clone(), self.with.journal.clone());
        let times = self.with.times;
        // Not bound to this actor: the leg must be hung up even if the pool stops meanwhile.
        tokio::spawn(async move {
            // The result depends on the call's last facts.
            journal.flush(FACTS_WITHIN).await;
            let settled = AssertUnwindSafe(settle(&ports, lost, times)).catch_unwind().await;
            let outcome = settled.unwrap_or_else(|_| {
                tracing::error!(%attempt, "settling a crashed call panicked");
                None
            });
            let _ = me.cast(LinesMessage::CrashSettled { attempt, outcome });
        });
    }

    /// Asks the calls of some dialers to end.
    pub(super) fn hang_up(&self, of: impl Fn(Dialer) -> bool) {
        for attempt in self.pool.calls() {
            if self.pool.dialer_of(attempt).is_some_and(&of)
                && let Some(call) = self.calls.get(&attempt)
            {
                let _ = call.cast(CallMessage::Happened(Event::HangUp));
            }
        }
    }
}
