//! The leg: permit, dial, ringing, answer, media, and the reports of a carrier that may repeat and reorder them.

use serde_json::json;

use super::{By, Effect, EndReason, Leg, PermitAnswer, Phase, Rules, State, event_fact};
use crate::call::{
    CallTimer,
    outcome::{Ending, Obstacle, account_refused, forbidden, not_allowed},
};
use domain::ports::carrier::{CallProgress, CarrierCallId, DialError, EndCause};

/// Longest time in milliseconds from the answer to the media socket.
const MEDIA_WAIT_MS: u64 = 10_000;

/// Longest wait of an inbound call for its media socket, in milliseconds. Its carrier opens it in response to
/// the announcement of the call.
const INBOUND_MEDIA_WAIT_MS: u64 = 30_000;

/// Time in milliseconds to wait for a silent callee before the greeting.
pub(super) const PICK_UP_MS: u64 = 1_200;

/// Time in milliseconds after the answer in which the user's voice does not interrupt.
pub(super) const BARGE_IN_AFTER_MS: u64 = 1_500;

/// Pause in milliseconds before an attempt that was certainly not sent is tried again, unless the carrier named one.
const BUSY_DELAY_MS: i64 = 5_000;
/// Longest pause that is taken from a carrier, so that its mistake cannot park a contact.
const LONGEST_BUSY_DELAY_MS: i64 = 3_600_000;
/// The same pause after the carrier could not be reached.
const UNREACHABLE_DELAY_MS: i64 = 15_000;
/// The same pause after the carrier refused the account.
const ACCOUNT_DELAY_MS: i64 = 60_000;
/// The same pause after the database was slow or did not answer, or the dial was held back.
const DATABASE_DELAY_MS: i64 = 5_000;

/// Returns why an inbound call was not taken: the caller gave up, or media never came.
fn not_taken(cause: &EndCause) -> EndReason {
    match cause {
        EndCause::Completed => EndReason::media_lost(),
        EndCause::Canceled | EndCause::NoAnswer | EndCause::Busy | EndCause::Rejected | EndCause::InvalidNumber => {
            EndReason::no_answer()
        }
        EndCause::Failed(text) => EndReason::carrier(text),
    }
}

/// Ends the call with nothing sent, for a reason other than the carrier.
fn not_sent(delay_ms: i64) -> Ending {
    Ending::NotSent { delay_ms, why: None }
}

impl State {
    /// Creates the state of an inbound call. Its leg exists; only its media socket is awaited.
    pub fn inbound(rules: Rules, leg: CarrierCallId) -> (Self, Vec<Effect>) {
        let (mut state, _) = Self::new(rules);
        state.phase = Phase::Ringing;
        state.leg = Leg {
            inbound: true,
            dialed: true,
            id: Some(leg),
            ..Leg::default()
        };
        let effects = vec![
            event_fact("received", 0, &json!({})),
            Effect::SetTimer(CallTimer::MediaWait, INBOUND_MEDIA_WAIT_MS),
        ];
        (state, effects)
    }

    pub(super) fn permitted(&mut self, answer: PermitAnswer) {
        let Phase::Scheduled { hang_up } = self.phase else {
            return;
        };
        match answer {
            PermitAnswer::Granted if !hang_up => {
                self.leg.dialed = true;
                self.leg.dialed_ms = self.now_ms;
                self.phase = Phase::Dialing { hang_up: false };
                self.fx.push(Effect::Dial);
            }
            PermitAnswer::Granted => self.finish_with(not_sent(0)),
            // A slow store gets time.
            PermitAnswer::Late => self.finish_with(not_sent(DATABASE_DELAY_MS)),
            PermitAnswer::Refused | PermitAnswer::Lost => self.finish_with(Ending::Nothing),
            PermitAnswer::Forbidden(why) => self.finish_with(Ending::Written(forbidden(why))),
            PermitAnswer::NotAllowed(error) => self.finish_with(Ending::Written(not_allowed(error))),
            PermitAnswer::Unanswered => {
                self.finish_with(not_sent(DATABASE_DELAY_MS));
            }
        }
    }

    pub(super) fn dialed(&mut self, result: Result<CarrierCallId, DialError>) {
        match result {
            Ok(id) => self.leg_known(id),
            Err(error) => {
                if let Phase::Dialing { hang_up } = self.phase {
                    self.dial_failed(error, hang_up);
                }
            }
        }
    }

    fn leg_known(&mut self, id: CarrierCallId) {
        if !self.leg.dialed || self.leg.id.is_some() {
            return;
        }
        self.leg.id = Some(id.clone());
        if matches!(self.phase, Phase::HangingUp { .. } | Phase::Ended) {
            // The call ended before the carrier's answer, so any leg it created is unwanted.
            self.fx.push(Effect::HangUpLeg(Some(id)));
            return;
        }
        self.fx.push(Effect::WriteDialed(id));
        let detail = json!({ "carrierMs": self.now_ms.saturating_sub(self.leg.dialed_ms) });
        self.record_at("dialed", 0, &detail);
        match self.phase {
            Phase::Dialing { hang_up: true } => self.end(EndReason::Cancelled),
            Phase::Dialing { .. } | Phase::Unknown => self.ringing(),
            _ => {}
        }
    }

    fn ringing(&mut self) {
        self.phase = Phase::Ringing;
        self.fx.push(Effect::CancelTimer(CallTimer::Settle));
        self.fx
            .push(Effect::SetTimer(CallTimer::Ring, self.rules.ring_timeout_ms));
    }

    fn dial_failed(&mut self, error: DialError, hang_up: bool) {
        let obstacle = Obstacle::of(&error);
        let why = obstacle.map(|obstacle| obstacle.reason);
        let not_sent = |delay_ms| Ending::NotSent { delay_ms, why };
        if !matches!(error, DialError::Unknown(_)) {
            self.leg.over = true;
        }
        match error {
            DialError::InvalidNumber(_) => self.end(EndReason::Failed("invalid-number".into())),
            DialError::Rejected(text) => self.end(EndReason::carrier(&text)),
            DialError::Unclassified { kind, words } => self.end(EndReason::Refused { kind, words }),
            DialError::Busy { retry_after } => {
                let asked = retry_after.map(|pause| i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
                let delay_ms = asked.map_or(BUSY_DELAY_MS, |asked_ms| asked_ms.min(LONGEST_BUSY_DELAY_MS));
                self.finish_with(not_sent(delay_ms));
            }
            DialError::Unreachable(_) => self.finish_with(not_sent(UNREACHABLE_DELAY_MS)),
            DialError::HeldBack(_) => self.finish_with(not_sent(DATABASE_DELAY_MS)),
            // A single call ends here. A campaign would wait until somebody fixes the account.
            DialError::AccountRefused(text) if self.rules.single => {
                self.end(EndReason::carrier(&account_refused(&text)));
            }
            DialError::AccountRefused(_) => self.finish_with(not_sent(ACCOUNT_DELAY_MS)),
            DialError::Unknown(_) if hang_up => self.end(EndReason::Cancelled),
            DialError::Unknown(_) => {
                self.phase = Phase::Unknown;
                self.fx.push(Effect::WriteUnknown);
                self.fx.push(Effect::SetTimer(CallTimer::Settle, self.rules.settle_ms));
            }
        }
    }

    /// Handles a leg that the store has bound otherwise. The first binding of leg and attempt holds, so this
    /// call is not ours.
    pub(super) fn not_our_leg(&mut self, anothers: bool) {
        if !self.leg.dialed {
            return;
        }
        // A leg that another attempt uses is not ours to hang up.
        self.leg.over |= anothers;
        self.end(EndReason::carrier("the call and the attempt belong to others"));
    }

    pub(super) fn progress(&mut self, progress: &CallProgress) {
        if !self.leg.dialed {
            return;
        }
        match progress {
            CallProgress::Placed => {}
            CallProgress::Machine(verdict) => self.carrier_found(*verdict),
            CallProgress::Transferred => self.transfer_reported(),
            CallProgress::TransferFailed(why) => self.transfer_report_failed(why),
            CallProgress::Ringing => {
                if matches!(self.phase, Phase::Dialing { hang_up: false } | Phase::Unknown) {
                    self.ringing();
                }
                if self.phase == Phase::Ringing && !std::mem::replace(&mut self.leg.rang, true) {
                    let detail = json!({ "afterDialMs": self.now_ms.saturating_sub(self.leg.dialed_ms) });
                    self.record_at("ringing", 0, &detail);
                }
            }
            // In an inbound call we are heard once media is open, whatever the carrier reports as the answer.
            CallProgress::Answered if self.leg.inbound => {}
            CallProgress::Answered => {
                if matches!(
                    self.phase,
                    Phase::Dialing { hang_up: false } | Phase::Unknown | Phase::Ringing
                ) {
                    self.answered();
                    self.fx.push(Effect::SetTimer(CallTimer::MediaWait, MEDIA_WAIT_MS));
                }
            }
            CallProgress::Ended(cause) => self.leg_ended(cause),
        }
    }

    fn answered(&mut self) {
        self.leg.answered_ms = Some(self.now_ms);
        let detail = json!({ "afterDialMs": self.now_ms.saturating_sub(self.leg.dialed_ms) });
        self.phase = Phase::PickedUp;
        self.fx.extend([
            Effect::CancelTimer(CallTimer::Settle),
            Effect::CancelTimer(CallTimer::Ring),
            Effect::WriteAnswered,
            event_fact("answered", 0, &detail),
        ]);
        self.disclose_anew();
        let until_close = self.rules.max_duration_ms - self.rules.closing_lead_ms();
        self.fx.push(Effect::SetTimer(CallTimer::MaxDuration, until_close));
    }

    fn leg_ended(&mut self, cause: &EndCause) {
        self.leg.over = true;
        self.ends(By::User, None);
        match &self.phase {
            Phase::Transferring(hand_over) => self.leg_ended_in_transfer(*hand_over),
            Phase::Dialing { hang_up: true } => self.end(EndReason::Cancelled),
            Phase::Ringing if self.leg.inbound => self.end(not_taken(cause)),
            Phase::Dialing { .. } | Phase::Unknown | Phase::Ringing => {
                if *cause == EndCause::Completed {
                    // The report of the answer is late or lost.
                    self.answered();
                }
                self.end(EndReason::from_cause(cause));
            }
            // The call was answered, but nobody could say or hear anything.
            Phase::PickedUp if self.leg.media_ms.is_none() => self.end(EndReason::media_lost()),
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason);
            }
            Phase::PickedUp
            | Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Machine(_)
            | Phase::Operator { .. }
            | Phase::Lost(_) => self.end(EndReason::Completed),
            Phase::Scheduled { .. } | Phase::HangingUp { .. } | Phase::Ended => {}
        }
    }

    pub(super) fn media_opened(&mut self) {
        if !self.lacks_media() && !self.replaces_media() {
            return;
        }
        match self.phase {
            Phase::Listening | Phase::Thinking | Phase::Speaking | Phase::Operator { .. } => {
                return self.caller_came_back();
            }
            Phase::Lost(resume) => return self.media_is_back(resume),
            Phase::Transferring(_) => {
                self.operator_leaves_transfer("transferred");
                self.join_stream();
                return self.caller_is_back();
            }
            _ => {}
        }
        if self.leg.answered_ms.is_none() {
            self.answered();
        }
        self.leg.media_ms = Some(self.now_ms);
        self.leg.stream_open = true;
        self.fx
            .extend([Effect::CancelTimer(CallTimer::MediaWait), Effect::OpenStream]);
        if self.leg.inbound {
            // A caller waits for us to speak, and may interrupt from the first word on.
            self.leg.barge_in = true;
            self.fx.push(Effect::AllowBargeIn(true));
            self.greet();
            return;
        }
        self.fx.extend([
            Effect::AllowBargeIn(false),
            Effect::SetTimer(CallTimer::BargeIn, BARGE_IN_AFTER_MS),
            Effect::SetTimer(CallTimer::PickUp, PICK_UP_MS),
        ]);
        if let Some(verdict) = self.carrier_said {
            self.take_carriers_word(verdict);
        }
    }

    pub(super) fn rang_long_enough(&mut self) {
        if self.phase == Phase::Ringing {
            self.end(EndReason::no_answer());
        }
    }

    pub(super) fn outcome_stays_unknown(&mut self) {
        if self.phase == Phase::Unknown {
            // Nothing was found to hang up, and a late ring will be rejected by the webhook.
            self.leg.over = true;
            self.end(EndReason::carrier("outcome unknown"));
        }
    }

    pub(super) fn media_never_came(&mut self) {
        let waits = self.phase == Phase::PickedUp || (self.leg.inbound && self.phase == Phase::Ringing);
        if waits && self.leg.media_ms.is_none() {
            self.end(EndReason::media_lost());
        }
    }
}
