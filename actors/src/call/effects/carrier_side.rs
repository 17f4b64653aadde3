//! The call's requests about its leg: permit, dial, look-up, hang-up.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::oneshot, time::Instant};

use super::EffectHandler;
use crate::{
    audio_stream::StreamMessage,
    call::{
        CallMessage, CallReport, LegSearch, NoOutcome, Obstacle, Owner,
        state::{Event, PermitAnswer, State, TransferAnswer},
        tasks::{self, InTime},
        writer::Write,
    },
};
use domain::{
    dial_token::Purpose,
    phone_number::with_numbers_masked,
    ports::{
        carrier::{CarrierCallId, CarrierError, Destination, DialRequest, LastLook, Transfer, TransferKind, WayBack},
        store::{Permit, PermitRequest, StoreError, StoreResult},
    },
};

/// Pause before a campaign asks again, if its account has used up its calls of the day.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// Number of hang-ups of other legs that one call may have in progress.
const MOST_HANG_UPS: usize = 8;

impl EffectHandler {
    pub(super) fn ask_permit(&mut self) {
        let plan = &self.plan;
        let telephony = &plan.agent.platform_settings.telephony;
        let request = PermitRequest {
            carrier: plan.carrier.name().to_owned(),
            caller_id: plan.caller_id.clone(),
            agent_version: plan.agent_version,
            restricted_prefixes: telephony.restricted_prefixes().to_vec(),
        };
        let store = self.with.ports.store.clone();
        let claim = plan.attempt.claim;
        self.permit_asked = (Instant::now(), self.with.ports.clock.now());
        let gate = self.with.gate.clone();
        let task = tasks::ask_permit(store, (claim, request), gate, self.me.clone());
        self.spawn(task);
    }

    pub(super) fn permitted(&mut self, answer: StoreResult<Permit>) -> PermitAnswer {
        match answer {
            Ok(Permit::Granted { token, caller_id }) => {
                self.token = Some(token);
                self.shows(caller_id);
                match self.in_time().refusal() {
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
                self.tell_lines(CallReport::MetObstacle(obstacle));
                PermitAnswer::Refused
            }
            Ok(Permit::NotAllowed { error }) => PermitAnswer::NotAllowed(error),
            Ok(Permit::DoNotCall) => PermitAnswer::Forbidden("do-not-call"),
            Ok(Permit::Restricted) => PermitAnswer::Forbidden("restricted"),
            Err(StoreError::Fenced | StoreError::NotFound) => PermitAnswer::Lost,
            Err(error) => {
                tracing::warn!(attempt = %self.plan.attempt.claim.attempt, %error, "permit request failed");
                self.outcome = Err(NoOutcome::StoreUnavailable);
                PermitAnswer::Unanswered
            }
        }
    }

    fn in_time(&self) -> InTime {
        InTime {
            gate: self.with.gate.clone(),
            clock: Arc::clone(&self.with.ports.clock),
            asked: self.permit_asked,
            within: self.with.times.send_within,
        }
    }

    pub(super) fn dial(&mut self) {
        let Some(token) = &self.token else { return };
        let plan = &self.plan;
        let built_in = &plan.agent.conversation_config.agent.prompt.built_in_tools;
        let number = &plan.attempt.contact.phone_number;
        let request = DialRequest {
            attempt: plan.attempt.claim.attempt,
            from: self.caller_id.clone(),
            to: number.dialed().unwrap_or_else(|| number.clone()),
            ring_timeout: plan.ring_timeout,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
            detect_machine: built_in.voicemail_detection.tool.enabled,
            hints: hints(plan.attempt.contact.extra.iter().chain(&plan.attempt.variables)),
            last_look: LastLook::default(),
        };
        self.dialing_at = self.with.ports.clock.now();
        let carrier = self.plan.carrier.clone();
        let task = tasks::dial(carrier, request, self.in_time(), self.me.clone());
        self.spawn(task);
    }

    pub(super) fn leg_known(&mut self, id: CarrierCallId) {
        self.tell_lines(CallReport::LegKnown(id.clone()));
        self.write(Write::Dialed(id));
    }

    pub(super) fn answered(&mut self) {
        let at = self.with.ports.clock.now();
        self.tell_lines(CallReport::Answered(at));
        self.write(Write::Answered(at));
        if !self.plan.overridden.is_empty() {
            self.record_event("overridden", &json!({ "fields": self.plan.overridden }));
        }
    }

    fn search(&self) -> LegSearch {
        let attempt = &self.plan.attempt;
        let (attempt, to) = (attempt.claim.attempt, attempt.contact.phone_number.clone());
        LegSearch::new(attempt, to, self.dialing_at, self.with.ports.store.clone())
    }

    pub(super) fn outcome_unknown(&mut self) {
        self.write(Write::Unknown);
        let carrier = self.plan.carrier.clone();
        let task = tasks::look_up(carrier, self.search(), self.with.times.settle_from, self.me.clone());
        self.spawn(task);
    }

    /// Returns the proofs with which a carrier reaches this call again, for requests in the middle of it.
    pub(super) fn way_back(&self) -> Option<WayBack> {
        let token = self.token.as_ref()?;
        Some(WayBack {
            attempt: self.plan.attempt.claim.attempt,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
        })
    }

    fn present_leg(&self) -> Option<CarrierCallId> {
        self.machine.as_ref().and_then(State::leg).cloned()
    }

    pub(super) fn transfer(&mut self, try_no: u32, kind: TransferKind, to: Destination) {
        let (Some(leg), Some(back)) = (self.present_leg(), self.way_back()) else {
            let answer = Err(CarrierError::NotFound);
            let _ = self.me.cast(CallMessage::TransferAsked { try_no, answer });
            return;
        };
        let from = self.caller_id.clone();
        let transfer = Transfer { kind, to, from, back };
        let carrier = self.plan.carrier.clone();
        let task = tasks::transfer(carrier, leg, transfer, try_no, self.me.clone());
        self.spawn(task);
    }

    /// Classifies the carrier's answer. A carrier that says no has not taken the transfer request. After any
    /// other error it is unknown how far the request came.
    pub(super) fn transfer_answer(&self, answer: Result<(), CarrierError>) -> TransferAnswer {
        let Err(error) = answer else {
            return TransferAnswer::Taken;
        };
        let why = self.refused("transfer", &error);
        match error {
            CarrierError::Refused(_) | CarrierError::NotOffered(_) | CarrierError::NotFound => {
                TransferAnswer::Refused(why)
            }
            CarrierError::Unavailable(_) | CarrierError::Protocol(_) => TransferAnswer::Lost(why),
        }
    }

    pub(super) fn reopen_media(&mut self, try_no: u32) {
        let (Some(leg), Some(back)) = (self.present_leg(), self.way_back()) else {
            let _ = self.me.cast(CallMessage::Happened(Event::NotReopened { try_no }));
            return;
        };
        let carrier = self.plan.carrier.clone();
        let task = self.if_ours(tasks::reopen_media(carrier, leg, back, try_no, self.me.clone()));
        let (me, lines) = (self.me.clone(), self.lines.clone());
        let claim = self.plan.attempt.claim;
        let task = self.spawn(async move {
            match task.await {
                Owner::Us => {}
                Owner::AnotherNode => drop(lines.send(CallReport::Lost(claim))),
                Owner::Unknown => drop(me.cast(CallMessage::Happened(Event::NotReopened { try_no }))),
            }
        });
        if let Some(earlier) = self.reopening.replace(task) {
            earlier.abort();
        }
    }

    /// Presses keys: over the media socket if it takes them, else through the carrier, else as tones in the
    /// call's own audio.
    pub(super) fn press(&mut self, keys: String) {
        let carrier = self.plan.carrier.clone();
        let by_carrier = !self.stream_presses && carrier.abilities().digits;
        match (self.present_leg().filter(|_| by_carrier), self.stream.clone()) {
            (Some(leg), stream) => {
                let (done, pressed) = oneshot::channel::<()>();
                let earlier = self.pressed.replace(pressed);
                self.spawn(async move {
                    if let Some(earlier) = earlier {
                        // The task drops its end when its keys were pressed.
                        let _ = earlier.await;
                    }
                    tasks::press(carrier, leg, keys, stream).await;
                    drop(done);
                });
            }
            (None, _) => self.tell_stream(StreamMessage::Press(keys)),
        }
    }

    /// Logs a request that the carrier did not grant. Returns the error text for the call's facts.
    pub(super) fn refused(&self, what: &str, error: &CarrierError) -> String {
        let attempt = &self.plan.attempt;
        let error = with_numbers_masked(&error.to_string());
        tracing::warn!(attempt = %attempt.claim.attempt, request = what, error, "carrier request failed");
        error
    }

    /// Hangs up a leg that claims to be this call's but is not. Reports of such a leg may arrive repeatedly.
    pub(super) fn hang_up_another(&mut self, leg: CarrierCallId) {
        let attempt = self.plan.attempt.claim.attempt;
        self.hang_ups.retain(|task| !task.is_finished());
        if self.hang_ups.len() < MOST_HANG_UPS {
            tracing::error!(%attempt, "hanging up a second leg");
            let carrier = self.plan.carrier.clone();
            let task = tasks::hang_up(carrier, Some(leg), self.search());
            self.hang_ups.push(tokio::spawn(task));
        } else {
            tracing::error!(%attempt, "second leg not hung up: too many hang-ups in progress");
        }
    }

    pub(super) fn hang_up(&mut self, leg: Option<CarrierCallId>) {
        let carrier = self.plan.carrier.clone();
        let task = self.if_ours(tasks::hang_up(carrier, leg, self.search()));
        let attempt = self.plan.attempt.claim.attempt;
        self.hang_ups.push(tokio::spawn(async move {
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
