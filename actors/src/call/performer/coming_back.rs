//! A call whose carrier asks how it goes on, and one that was another process's.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::Performer;
use crate::{
    call::{
        GoesOn, InboundLeg, Inheritance,
        state::{Event, State},
        writer::Write,
    },
    dial_token::{DialToken, Purpose},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{EventFact, Fact},
    },
    switchboard::DoorRefusal,
};

/// Tells in which of the agent's languages it goes on.
const LANGUAGE: &str = "language";

/// How long the store may take to say whose a call is that may have gone to another process. Calls end also while the
/// database is away.
const WHOSE_WITHIN: Duration = Duration::from_secs(1);

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

impl Performer {
    /// The carrier asks how the call goes on: with another media socket, or not at all.
    pub(super) async fn came_back(&mut self, proof: &str, leg: CarrierCallId) -> Result<GoesOn, DoorRefusal> {
        self.check(Purpose::Media, proof)?;
        self.adopt(Some(leg), false).await?;
        self.apply(Event::CameBack).await;
        let machine = self.machine.as_ref().filter(|machine| machine.lacks_media());
        let asked_before = machine.map(|machine| machine.returns().saturating_sub(1));
        let back = self.way_back();
        let goes_on = back
            .zip(asked_before)
            .map(|(back, asked_before)| GoesOn { back, asked_before });
        goes_on.ok_or(DoorRefusal::NotNow)
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
        self.arguments.plan.carrier.abilities().comes_back
    }

    /// Answers whether the call is another process's by now: what that does with the leg is not ours to undo. One that is
    /// over is nobody's.
    pub(super) fn is_another_s(&self) -> impl Future<Output = bool> + Send + use<> {
        let (store, claim) = (self.arguments.ports.store.clone(), self.arguments.plan.attempt.claim);
        let possible = self.may_be_another_s();
        async move {
            if !possible {
                return false;
            }
            match timeout(WHOSE_WITHIN, store.owner_of(claim.attempt)).await {
                Ok(Ok(Some(owner))) => (owner.node, owner.epoch) != (claim.owner, claim.epoch),
                Ok(Ok(None) | Err(_)) | Err(_) => false,
            }
        }
    }
}
