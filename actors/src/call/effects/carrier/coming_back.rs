//! Handling of a call whose carrier asks how it goes on, and of a call taken over from another process.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::attempt::{InboundLeg, Inheritance};
use crate::call::effects::{EffectHandler, another_agent, leg, record, streams, writer::Write};
use crate::call::{CallMessage, CallReport, Event, GoesOn, LegRefusal, Owner, certain_owner, owner_of, state::State};
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
pub fn known_before(
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
pub fn answered_at(now: Instant, inherited: &Inheritance) -> Option<Instant> {
    let elapsed_ms = u64::try_from(inherited.call.elapsed_ms).ok()?;
    now.checked_sub(Duration::from_millis(elapsed_ms))
}

/// Returns the language the call was last held in, if the present agent has changed it.
pub fn spoken_last(inherited: &Inheritance) -> Option<String> {
    let events = &inherited.call.events;
    let last = events.iter().rposition(|event| event.name == LANGUAGE)?;
    (Some(last) > last_handed_over(events)).then_some(())?;
    let detail: Value = serde_json::from_str(&events[last].detail).ok()?;
    detail["language"].as_str().map(str::to_owned)
}

/// Answers the carrier's question how the call goes on: with another media socket, or not at all.
pub async fn carrier_asks(call: &mut EffectHandler, proof: &str, leg: CarrierCallId) -> Result<GoesOn, LegRefusal> {
    leg::check(call, Purpose::Media, proof)?;
    leg::adopt_leg(call, Some(leg), false).await?;
    call.apply(Event::CameBack).await;
    let machine = call.machine.as_ref().filter(|machine| machine.lacks_media());
    let asked_before = machine.map(|machine| machine.returns().saturating_sub(1));
    let back = leg::way_back(call);
    let goes_on = back
        .zip(asked_before)
        .map(|(back, asked_before)| GoesOn { back, asked_before });
    goes_on.ok_or(LegRefusal::NotNow)
}

/// Switches the agent to another of its languages. The change is recorded, so that it survives a takeover
/// by another process.
pub fn switch_language(call: &mut EffectHandler, code: &str) {
    another_agent::speak(call, code);
    record::record_event(call, LANGUAGE, &json!({ "language": code }));
}

pub fn keep_collected(call: &EffectHandler) {
    let machine = call.machine.as_ref();
    let collected = machine.map(|machine: &State| machine.history().collected().clone());
    if let Some(collected) = collected.filter(|_| may_be_another_s(call)) {
        record::write(call, Write::Collected(collected));
    }
}

/// Returns whether another process may take this call over while it is ours.
pub fn may_be_another_s(call: &EffectHandler) -> bool {
    call.plan.carrier.abilities().comes_back
}

/// Returns whether another process may have taken it over already.
pub fn may_have_gone(call: &EffectHandler) -> bool {
    let now_ms = call.now_ms();
    let machine = call.machine.as_ref();
    may_be_another_s(call) && machine.is_some_and(|machine| machine.may_have_gone(now_ms))
}

/// Handles a message that brings media for the call or asks for it.
pub async fn asked_for_media(call: &mut EffectHandler, asked: CallMessage) {
    // The requester may have given up waiting.
    match asked {
        CallMessage::AskMedia {
            proof,
            replacing,
            reply,
        } => drop(reply.send(leg::may_take_media(call, &proof, replacing))),
        CallMessage::Media { proof, leg, reply } => {
            let taken = streams::media(call, &proof, leg).await;
            let _ = reply.send(taken);
        }
        _ => {}
    }
}

/// Looks up the owner before such a message is answered, since two processes must not speak into one call.
pub fn check_owner(call: &mut EffectHandler, asked: CallMessage) {
    let shown = match &asked {
        CallMessage::AskMedia { proof, .. } | CallMessage::Media { proof, .. } => {
            leg::check(call, Purpose::Media, proof)
        }
        _ => return,
    };
    if let Err(refused) = shown {
        return refuse(asked, refused);
    }
    let (store, claim) = (call.with.ports.store.clone(), call.plan.attempt.claim);
    let (me, asked) = (call.me.clone(), Box::new(asked));
    call.spawn(async move {
        let owner = owner_of(store, claim).await;
        let _ = me.cast(CallMessage::OwnerKnown { owner, asked });
    });
}

pub async fn owner_known(call: &mut EffectHandler, owner: Owner, asked: CallMessage) {
    match owner {
        Owner::Us => asked_for_media(call, asked).await,
        Owner::AnotherNode => {
            call.tell_lines(CallReport::Lost(call.plan.attempt.claim));
            refuse(asked, LegRefusal::UnknownCall);
        }
        Owner::Unknown => refuse(asked, LegRefusal::NotNow),
    }
}

/// Watches who owns the call while its media is lost. The carrier's reports are taken here only as long
/// as the call is ours.
pub fn watch_claim(call: &mut EffectHandler) {
    if !may_have_gone(call) {
        if let Some(watching) = call.carrier.watching.take() {
            watching.abort();
        }
        return;
    }
    if call.carrier.watching.is_some() {
        return;
    }
    let (store, claim) = (call.with.ports.store.clone(), call.plan.attempt.claim);
    let lines = call.lines.clone();
    let watching = call.spawn(async move {
        loop {
            sleep(WATCHED_EVERY).await;
            if owner_of(store.clone(), claim).await == Owner::AnotherNode {
                lines.send(CallReport::Lost(claim));
                return;
            }
        }
    });
    call.carrier.watching = Some(watching);
}

/// Waits until `work` may touch the leg and runs it. Otherwise returns `AnotherNode` or `Unknown`. A call
/// whose media stayed with us to the end counts as ours unless the store says otherwise.
pub fn if_ours<W>(call: &EffectHandler, work: W) -> impl Future<Output = Owner> + Send + use<W>
where
    W: Future<Output = ()> + Send,
{
    let (store, claim) = (call.with.ports.store.clone(), call.plan.attempt.claim);
    let (possible, gone) = (may_be_another_s(call), may_have_gone(call));
    let within = call.with.times.dead_after * 2;
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

fn refuse(asked: CallMessage, refused: LegRefusal) {
    if let CallMessage::AskMedia { reply, .. } | CallMessage::Media { reply, .. } = asked {
        let _ = reply.send(Err(refused));
    }
}
