//! The call's requests about its leg: permit, dial, look-up, hang-up.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::oneshot, time::Instant};

use crate::audio_stream::StreamMessage;
use crate::call::effects::{
    EffectHandler, coming_back, placeholders, record, streams, tasks, tasks::InTime, writer::Write,
};
use crate::call::{
    CallMessage, CallReport, Event, LegRefusal, LegSearch, NoOutcome, Obstacle, Owner, state::PermitAnswer,
    state::State, state::TransferAnswer,
};
use domain::{
    dial_token::Purpose,
    phone_number::{PhoneNumber, with_numbers_masked},
    ports::{
        carrier::{
            CallProgress, CarrierCallId, CarrierError, Destination, DialRequest, LastLook, LegReport, Transfer,
            TransferKind, WayBack,
        },
        store::{Permit, PermitRequest, StoreError, StoreResult},
    },
    template::CALLER_NUMBER,
};

/// Pause before a campaign asks again, if its account has used up its calls of the day.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// Number of hang-ups of other legs that one call may have in progress.
const MOST_HANG_UPS: usize = 8;

pub fn ask_permit(call: &mut EffectHandler) {
    let plan = &call.plan;
    let telephony = &plan.agent.platform_settings.telephony;
    let request = PermitRequest {
        carrier: plan.carrier.name().to_owned(),
        caller_id: plan.caller_id.clone(),
        agent_version: plan.agent_version,
        restricted_prefixes: telephony.restricted_prefixes().to_vec(),
    };
    let store = call.with.ports.store.clone();
    let claim = plan.attempt.claim;
    call.carrier.permit_asked = (Instant::now(), call.with.ports.clock.now());
    let gate = call.with.gate.clone();
    let task = tasks::ask_permit(store, (claim, request), gate, call.me.clone());
    call.spawn(task);
}

pub fn permitted(call: &mut EffectHandler, answer: StoreResult<Permit>) -> PermitAnswer {
    match answer {
        Ok(Permit::Granted { token, caller_id }) => {
            call.carrier.token = Some(token);
            shows(call, caller_id);
            match in_time(call).refusal() {
                None => PermitAnswer::Granted,
                Some(_) => PermitAnswer::Late,
            }
        }
        Ok(Permit::CampaignNotRunning | Permit::NumberBusy | Permit::PutOff { .. }) => PermitAnswer::Refused,
        Ok(Permit::DayUsedUp { reason }) => {
            // Handled like an unavailable carrier: it is tried again from time to time, since the rule
            // may be changed.
            let pause = Some(TRY_AGAIN);
            let obstacle = Obstacle { reason, pause };
            call.tell_lines(CallReport::MetObstacle(obstacle));
            PermitAnswer::Refused
        }
        Ok(Permit::NotAllowed { error }) => PermitAnswer::NotAllowed(error),
        Ok(Permit::DoNotCall) => PermitAnswer::Forbidden("do-not-call"),
        Ok(Permit::Restricted) => PermitAnswer::Forbidden("restricted"),
        Err(StoreError::Fenced | StoreError::NotFound) => PermitAnswer::Lost,
        Err(error) => {
            tracing::warn!(attempt = %call.plan.attempt.claim.attempt, %error, "permit request failed");
            call.record.ends_without(NoOutcome::StoreUnavailable);
            PermitAnswer::Unanswered
        }
    }
}

/// Sets our number on the line. If it is not the expected one, the texts are rendered again, since they
/// may name it.
fn shows(call: &mut EffectHandler, caller_id: Option<PhoneNumber>) {
    let text = caller_id.as_ref().map(ToString::to_string).unwrap_or_default();
    call.carrier.caller_id = caller_id;
    if placeholders::fill(call, CALLER_NUMBER, text) {
        placeholders::read_texts_again(call);
    }
}

fn in_time(call: &EffectHandler) -> InTime {
    InTime {
        gate: call.with.gate.clone(),
        clock: Arc::clone(&call.with.ports.clock),
        asked: call.carrier.permit_asked,
        within: call.with.times.send_within,
    }
}

pub fn dial(call: &mut EffectHandler) {
    let Some(token) = &call.carrier.token else { return };
    let plan = &call.plan;
    let built_in = &plan.agent.conversation_config.agent.prompt.built_in_tools;
    let number = &plan.attempt.contact.phone_number;
    let request = DialRequest {
        attempt: plan.attempt.claim.attempt,
        from: call.carrier.caller_id.clone(),
        to: number.dialed().unwrap_or_else(|| number.clone()),
        ring_timeout: plan.ring_timeout,
        status_token: token.proof(Purpose::Status),
        media_token: token.proof(Purpose::Media),
        detect_machine: built_in.voicemail_detection.tool.enabled,
        hints: hints(plan.attempt.contact.extra.iter().chain(&plan.attempt.variables)),
        last_look: LastLook::default(),
    };
    call.carrier.dialing_at = call.with.ports.clock.now();
    let carrier = call.plan.carrier.clone();
    let task = tasks::dial(carrier, request, in_time(call), call.me.clone());
    call.spawn(task);
}

pub fn leg_known(call: &mut EffectHandler, id: CarrierCallId) {
    call.tell_lines(CallReport::LegKnown(id.clone()));
    record::write(call, Write::Dialed(id));
}

pub fn answered(call: &mut EffectHandler) {
    let at = call.with.ports.clock.now();
    call.tell_lines(CallReport::Answered(at));
    record::write(call, Write::Answered(at));
    if !call.plan.overridden.is_empty() {
        record::record_event(call, "overridden", &json!({ "fields": call.plan.overridden }));
    }
}

fn search(call: &EffectHandler) -> LegSearch {
    let attempt = &call.plan.attempt;
    let (attempt, to) = (attempt.claim.attempt, attempt.contact.phone_number.clone());
    LegSearch::new(attempt, to, call.carrier.dialing_at, call.with.ports.store.clone())
}

pub fn outcome_unknown(call: &mut EffectHandler) {
    record::write(call, Write::Unknown);
    let carrier = call.plan.carrier.clone();
    let task = tasks::look_up(carrier, search(call), call.with.times.settle_from, call.me.clone());
    call.spawn(task);
}

/// Returns the proofs with which a carrier reaches this call again, for requests in the middle of it.
pub fn way_back(call: &EffectHandler) -> Option<WayBack> {
    let token = call.carrier.token.as_ref()?;
    Some(WayBack {
        attempt: call.plan.attempt.claim.attempt,
        status_token: token.proof(Purpose::Status),
        media_token: token.proof(Purpose::Media),
    })
}

fn present_leg(call: &EffectHandler) -> Option<CarrierCallId> {
    call.machine.as_ref().and_then(State::leg).cloned()
}

pub fn transfer(call: &mut EffectHandler, try_no: u32, kind: TransferKind, to: Destination) {
    let (Some(leg), Some(back)) = (present_leg(call), way_back(call)) else {
        let answer = Err(CarrierError::NotFound);
        let _ = call.me.cast(CallMessage::TransferAsked { try_no, answer });
        return;
    };
    let from = call.carrier.caller_id.clone();
    let transfer = Transfer { kind, to, from, back };
    let carrier = call.plan.carrier.clone();
    let task = tasks::transfer(carrier, leg, transfer, try_no, call.me.clone());
    call.spawn(task);
}

/// Classifies the carrier's answer. A carrier that says no has not taken the transfer request. After any
/// other error it is unknown how far the request came.
pub fn transfer_answer(call: &EffectHandler, answer: Result<(), CarrierError>) -> TransferAnswer {
    let Err(error) = answer else {
        return TransferAnswer::Taken;
    };
    let why = refused(call, "transfer", &error);
    match error {
        CarrierError::Refused(_) | CarrierError::NotOffered(_) | CarrierError::NotFound => TransferAnswer::Refused(why),
        CarrierError::Unavailable(_) | CarrierError::Protocol(_) => TransferAnswer::Lost(why),
    }
}

pub fn reopen_media(call: &mut EffectHandler, try_no: u32) {
    let (Some(leg), Some(back)) = (present_leg(call), way_back(call)) else {
        let _ = call.me.cast(CallMessage::Happened(Event::NotReopened { try_no }));
        return;
    };
    let carrier = call.plan.carrier.clone();
    let task = coming_back::if_ours(call, tasks::reopen_media(carrier, leg, back, try_no, call.me.clone()));
    let (me, lines) = (call.me.clone(), call.lines.clone());
    let claim = call.plan.attempt.claim;
    let task = call.spawn(async move {
        match task.await {
            Owner::Us => {}
            Owner::AnotherNode => drop(lines.send(CallReport::Lost(claim))),
            Owner::Unknown => drop(me.cast(CallMessage::Happened(Event::NotReopened { try_no }))),
        }
    });
    if let Some(earlier) = call.carrier.reopening.replace(task) {
        earlier.abort();
    }
}

/// Presses keys: over the media socket if it takes them, else through the carrier, else as tones in the
/// call's own audio.
pub fn press(call: &mut EffectHandler, keys: String) {
    let carrier = call.plan.carrier.clone();
    let by_carrier = !call.audio.presses_keys() && carrier.abilities().digits;
    match (present_leg(call).filter(|_| by_carrier), call.audio.stream()) {
        (Some(leg), stream) => {
            let (done, pressed) = oneshot::channel::<()>();
            let earlier = call.carrier.pressed.replace(pressed);
            call.spawn(async move {
                if let Some(earlier) = earlier {
                    // The task drops its end when its keys were pressed.
                    let _ = earlier.await;
                }
                tasks::press(carrier, leg, keys, stream).await;
                drop(done);
            });
        }
        (None, _) => streams::tell_stream(call, StreamMessage::Press(keys)),
    }
}

/// Logs a request that the carrier did not grant. Returns the error text for the call's facts.
pub fn refused(call: &EffectHandler, what: &str, error: &CarrierError) -> String {
    let attempt = &call.plan.attempt;
    let error = with_numbers_masked(&error.to_string());
    tracing::warn!(attempt = %attempt.claim.attempt, request = what, error, "carrier request failed");
    error
}

/// Hangs up a leg that claims to be this call's but is not. Reports of such a leg may arrive repeatedly.
pub fn hang_up_another(call: &mut EffectHandler, leg: CarrierCallId) {
    let attempt = call.plan.attempt.claim.attempt;
    call.carrier.hang_ups.retain(|task| !task.is_finished());
    if call.carrier.hang_ups.len() < MOST_HANG_UPS {
        tracing::error!(%attempt, "hanging up a second leg");
        let carrier = call.plan.carrier.clone();
        let task = tasks::hang_up(carrier, Some(leg), search(call));
        call.carrier.hang_ups.push(tokio::spawn(task));
    } else {
        tracing::error!(%attempt, "second leg not hung up: too many hang-ups in progress");
    }
}

pub fn hang_up(call: &mut EffectHandler, leg: Option<CarrierCallId>) {
    let carrier = call.plan.carrier.clone();
    let task = coming_back::if_ours(call, tasks::hang_up(carrier, leg, search(call)));
    let attempt = call.plan.attempt.claim.attempt;
    call.carrier.hang_ups.push(tokio::spawn(async move {
        match task.await {
            Owner::Us => {}
            Owner::AnotherNode => {
                tracing::warn!(%attempt, "leg left alone: another process owns the call");
            }
            // The carrier will ask how the call goes on, and the process that owns it will answer.
            Owner::Unknown => {
                tracing::error!(%attempt, "leg left alone: owner of the call unknown");
            }
        }
    }));
}

pub async fn progress(call: &mut EffectHandler, proof: &str, report: LegReport) -> Result<(), LegRefusal> {
    check(call, Purpose::Status, proof)?;
    let over = matches!(report.progress, CallProgress::Ended(_));
    adopt_leg(call, report.call, over).await?;
    call.apply(Event::Progress(report.progress)).await;
    Ok(())
}

/// Adopts the leg id that a report with the permit's proof brings. The report is as good a source as the
/// dial's answer, which may be lost. A second leg of the same permit is hung up, unless it is `over`.
pub async fn adopt_leg(call: &mut EffectHandler, leg: Option<CarrierCallId>, over: bool) -> Result<(), LegRefusal> {
    let Some(leg) = leg else { return Ok(()) };
    match call.machine.as_ref().and_then(State::leg) {
        Some(ours) if *ours == leg => {}
        Some(_) => {
            if !over {
                hang_up_another(call, leg);
            }
            return Err(LegRefusal::AnotherLeg);
        }
        None => call.apply(Event::Dialed(Ok(leg))).await,
    }
    Ok(())
}

/// Returns an error if a media socket would not be taken now. With `replacing`, a socket that replaces an
/// open one is accepted too.
pub fn may_take_media(call: &EffectHandler, proof: &str, replacing: bool) -> Result<(), LegRefusal> {
    check(call, Purpose::Media, proof)?;
    let machine = call.machine.as_ref();
    let takes = machine.is_some_and(|machine| machine.lacks_media() || (replacing && machine.replaces_media()));
    takes.then_some(()).ok_or(LegRefusal::NotNow)
}

pub fn check(call: &EffectHandler, purpose: Purpose, proof: &str) -> Result<(), LegRefusal> {
    match &call.carrier.token {
        Some(token) if token.verify(purpose, proof) => Ok(()),
        _ => Err(LegRefusal::BadProof),
    }
}

/// Converts a contact's fields, or a single call's variables, to text for carriers that read them.
fn hints<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>) -> BTreeMap<String, String> {
    fields
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), text)
        })
        .collect()
}
