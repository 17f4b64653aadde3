//! A call whose carrier asks how it goes on, and one that was another process's.

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
    ports::{
        carrier::CarrierCallId,
        store::{EventFact, Fact},
    },
};

/// Tells in which of the agent's languages it goes on.
const LANGUAGE: &str = "language";

/// How often it is looked whose a call is whose media is lost.
const WATCHED_EVERY: Duration = Duration::from_secs(1);

/// The token and our number, of a call that does not get them with its permit.
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

/// When it was answered, on this process's clock.
pub(super) fn answered_at(now: Instant, inherited: &Inheritance) -> Option<Instant> {
    let elapsed_ms = u64::try_from(inherited.call.elapsed_ms).ok()?;
    now.checked_sub(Duration::from_millis(elapsed_ms))
}

/// The language it was held in last, where the present agent has changed it.
pub(super) fn spoken_last(inherited: &Inheritance) -> Option<String> {
    let changes = |event: &&EventFact| matches!(event.name.as_str(), LANGUAGE | "agent_transfer");
    let last = inherited.call.events.iter().rfind(changes)?;
    let detail: Value = serde_json::from_str(&last.detail).ok()?;
    (last.name == LANGUAGE).then_some(())?;
    detail["language"].as_str().map(str::to_owned)
}

impl EffectHandler {
    /// The carrier asks how the call goes on: with another media socket, or not at all.
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

    /// The agent goes on in another of its languages, also should another process take the call over.
    pub(super) fn switch_language(&mut self, code: &str) {
        self.speak(code);
        let at_ms = self
            .machine
            .as_ref()
            .map_or(0, |machine| machine.elapsed_ms(self.now_ms()));
        self.record(Fact::Event(EventFact {
            name: LANGUAGE.to_owned(),
            at_ms,
            detail: json!({ "language": code }).to_string(),
        }));
    }

    pub(super) fn keep_collected(&self) {
        let machine = self.machine.as_ref();
        let collected = machine.map(|machine: &State| machine.history().collected().clone());
        if let Some(collected) = collected.filter(|_| self.may_be_another_s()) {
            self.write(Write::Collected(collected));
        }
    }

    /// Whether another process may take this call over while it is ours.
    pub(super) fn may_be_another_s(&self) -> bool {
        self.plan.carrier.abilities().comes_back
    }

    /// Whether another process may have taken it over already.
    pub(super) fn may_have_gone(&self) -> bool {
        let now_ms = self.now_ms();
        let machine = self.machine.as_ref();
        self.may_be_another_s() && machine.is_some_and(|machine| machine.may_have_gone(now_ms))
    }

    /// Takes somebody's message who has media for the call, or asks for it.
    pub(super) async fn asked_for_media(&mut self, asked: CallMessage) {
        // The asker may have given up waiting.
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

    /// Two processes must not speak into one call: nobody is answered before the row has said whose it is.
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

    /// While the media of a call is lost, its carrier's reports are taken here only for as long as the call is ours.
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

    /// Waits until `work` may touch the leg, and does it; `AnotherNode` or `Unknown` where it may not. A call that was in our
    /// hands to its end is ours while the store does not say otherwise.
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
