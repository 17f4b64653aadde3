//! Handling of a call whose carrier asks how it goes on, and of a call taken over from another process.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::EffectHandler;
use crate::{
    attempt::{InboundLeg, Inheritance},
    call::{
        CallMessage, CallReport, GoesOn, LegRefusal, Owner, certain_owner, owner_of,
        state::{Event, State},
        writer::Write,
    },
};
use domain::{
    dial_token::{DialToken, Purpose},
    phone_number::PhoneNumber,
    ports::{carrier::CarrierCallId, store::last_handed_over},
};

/// Name of the fact that records a change of the agent's language.
const LANGUAGE: &str = "language";

/// Interval at which the owner of a call with lost media is checked.
const WATCHED_EVERY: Duration = Duration::from_secs(1);

/// Returns the token and our number for a call that does not get them with its permit.
pub(super) fn known_before(
    inbound: &Option<InboundLeg>,
    inherited: Option<&Inheritance>,
) -> (Option<DialToken>, Option<PhoneNumber>) {
    match (inbound, inherited) {
        (Some(leg), _) => (
            Some(leg.token.clone()),
            Some(leg.to.clone()).filter(|to| !to.is_nobodys()),
        ),
        (None, Some(Inheritance { call, .. })) => (Some(call.token.clone()), call.caller_id.clone()),
        (None, None) => (None, None),
    }
}

/// Returns the instant of the answer on this process's clock.
pub(super) fn answered_at(now: Instant, inherited: &Inheritance) -> Option<Instant> {
    let elapsed_ms = u64::try_from(inherited.call.elapsed_ms).ok()?;
    now.checked_sub(Duration::from_millis(elapsed_ms))
}

/// Returns the language the call was last held in, if the present agent has changed it.
pub(super) fn spoken_last(inherited: &Inheritance) -> Option<String> {
    let events = &inherited.call.events;
    let last = events.iter().rposition(|event| event.name == LANGUAGE)?;
    (Some(last) > last_handed_over(events)).then_some(())?;
    let detail: Value = serde_json::from_str(&events[last].detail).ok()?;
    detail["language"].as_str().map(str::to_owned)
}

impl EffectHandler {
    /// Answers the carrier's question how the call goes on: with another media socket, or not at all.
    pub(super) async fn came_back(&mut self, proof: &str, leg: CarrierCallId) -> Result<GoesOn, LegRefusal> {
        self.check(Purpose::Media, proof)?;
        self.adopt(Some(leg), false).await?;
        self.apply(Event::CameBack).await;
        let machine = self.machine.as_ref().filter(|machine| machine.lacks_media());
        let asked_before = machine.map(|machine| machine.returns().saturating_sub(1));
        let back = self.way_back();
        let goes_on = back
            .zip(asked_before)
            .map(|(back, asked_before)| GoesOn { back, asked_before });
        goes_on.ok_or(LegRefusal::NotNow)
    }

    /// Switches the agent to another of its languages. The change is recorded, so that it survives a takeover
    /// by another process.
    pub(super) fn switch_language(&mut self, code: &str) {
        self.speak(code);
        self.record_event(LANGUAGE, &json!({ "language": code }));
    }

    pub(super) fn keep_collected(&self) {
        let machine = self.machine.as_ref();
        let collected = machine.map(|machine: &State| machine.history().collected().clone());
        if let Some(collected) = collected.filter(|_| self.may_be_another_s()) {
            self.write(Write::Collected(collected));
        }
    }

    /// Returns whether another process may take this call over while it is ours.
    pub(super) fn may_be_another_s(&self) -> bool {
        self.plan.carrier.abilities().comes_back
    }

    /// Returns whether another process may have taken it over already.
    pub(super) fn may_have_gone(&self) -> bool {
        let now_ms = self.now_ms();
        let machine = self.machine.as_ref();
        self.may_be_another_s() && machine.is_some_and(|machine| machine.may_have_gone(now_ms))
    }

    /// Handles a message that brings media for the call or asks for it.
    pub(super) async fn asked_for_media(&mut self, asked: CallMessage) {
        // The requester may have given up waiting.
        match asked {
            CallMessage::AskMedia {
                proof,
                replacing,
                reply,
            } => drop(reply.send(self.may_take_media(&proof, replacing))),
            CallMessage::Media { proof, leg, reply } => {
                let taken = self.media(&proof, leg).await;
                let _ = reply.send(taken);
            }
            _ => {}
        }
    }

    /// Looks up the owner before such a message is answered, since two processes must not speak into one call.
    pub(super) fn check_owner(&mut self, asked: CallMessage) {
        let shown = match &asked {
            CallMessage::AskMedia { proof, .. } | CallMessage::Media { proof, .. } => self.check(Purpose::Media, proof),
            _ => return,
        };
        if let Err(refused) = shown {
            return refuse(asked, refused);
        }
        let (store, claim) = (self.with.ports.store.clone(), self.plan.attempt.claim);
        let (me, asked) = (self.me.clone(), Box::new(asked));
        self.spawn(async move {
            let owner = owner_of(store, claim).await;
            let _ = me.cast(CallMessage::OwnerKnown { owner, asked });
        });
    }

    pub(super) async fn owner_known(&mut self, owner: Owner, asked: CallMessage) {
        match owner {
            Owner::Us => self.asked_for_media(asked).await,
            Owner::AnotherNode => {
                self.tell_lines(CallReport::Lost(self.plan.attempt.claim));
                refuse(asked, LegRefusal::UnknownCall);
            }
            Owner::Unknown => refuse(asked, LegRefusal::NotNow),
        }
    }

    /// Watches who owns the call while its media is lost. The carrier's reports are taken here only as long
    /// as the call is ours.
    pub(super) fn watch_claim(&mut self) {
        if !self.may_have_gone() {
            if let Some(watching) = self.watching.take() {
                watching.abort();
            }
            return;
        }
        if self.watching.is_some() {
            return;
        }
        let (store, claim) = (self.with.ports.store.clone(), self.plan.attempt.claim);
        let lines = self.lines.clone();
        let watching = self.spawn(async move {
            loop {
                sleep(WATCHED_EVERY).await;
                if owner_of(store.clone(), claim).await == Owner::AnotherNode {
                    lines.send(CallReport::Lost(claim));
                    return;
                }
            }
        });
        self.watching = Some(watching);
    }

    /// Waits until `work` may touch the leg and runs it. Otherwise returns `AnotherNode` or `Unknown`. A call
    /// whose media stayed with us to the end counts as ours unless the store says otherwise.
    pub(super) fn if_ours<W>(&self, work: W) -> impl Future<Output = Owner> + Send + use<W>
    where
        W: Future<Output = ()> + Send,
    {
        let (store, claim) = (self.with.ports.store.clone(), self.plan.attempt.claim);
        let (possible, gone) = (self.may_be_another_s(), self.may_have_gone());
        let within = self.with.times.dead_after * 2;
        async move {
            let owner = match (possible, gone) {
                (false, _) => Owner::Us,
                (true, true) => certain_owner(store, claim, within).await,
                (true, false) => match owner_of(store, claim).await {
                    Owner::Unknown => Owner::Us,
                    known => known,
                },
            };
            if owner == Owner::Us {
                work.await;
            }
            owner
        }
    }
}

fn refuse(asked: CallMessage, refused: LegRefusal) {
    if let CallMessage::AskMedia { reply, .. } | CallMessage::Media { reply, .. } = asked {
        let _ = reply.send(Err(refused));
    }
}
