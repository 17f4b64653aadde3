//! The leg: permit, dial, ringing, answer, media, and the reports of a carrier that may repeat and reorder them.

use serde_json::json;

use crate::call::state::{
    By, Effect, Leg, PermitAnswer, Phase, Rules, State, disclosing, ending, event_fact, lost, talk, transfer,
    who_answered,
};
use crate::call::{
    CallTimer, EndReason, Obstacle, outcome::Ending, outcome::account_refused, outcome::forbidden, outcome::not_allowed,
};
use domain::ports::carrier::{CallProgress, CarrierCallId, DialError, EndCause};

/// Longest time in milliseconds from the answer to the media socket.
const MEDIA_WAIT_MS: u64 = 10_000;

/// Longest wait of an inbound call for its media socket, in milliseconds. Its carrier opens it in response to
/// the announcement of the call.
const INBOUND_MEDIA_WAIT_MS: u64 = 30_000;

/// Time in milliseconds to wait for a silent callee before the greeting.
pub const PICK_UP_MS: u64 = 1_200;

/// Time in milliseconds after the answer in which the user's voice does not interrupt.
pub const BARGE_IN_AFTER_MS: u64 = 1_500;

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
}

pub fn permitted(call: &mut State, answer: PermitAnswer) {
    let Phase::Scheduled { hang_up } = call.phase else {
        return;
    };
    match answer {
        PermitAnswer::Granted if !hang_up => {
            call.leg.dialed = true;
            call.leg.dialed_ms = call.now_ms;
            call.phase = Phase::Dialing { hang_up: false };
            call.fx.push(Effect::Dial);
        }
        PermitAnswer::Granted => ending::finish_with(call, not_sent(0)),
        // A slow store gets time.
        PermitAnswer::Late => ending::finish_with(call, not_sent(DATABASE_DELAY_MS)),
        PermitAnswer::Refused | PermitAnswer::Lost => ending::finish_with(call, Ending::Nothing),
        PermitAnswer::Forbidden(why) => ending::finish_with(call, Ending::Written(forbidden(why))),
        PermitAnswer::NotAllowed(error) => ending::finish_with(call, Ending::Written(not_allowed(error))),
        PermitAnswer::Unanswered => {
            ending::finish_with(call, not_sent(DATABASE_DELAY_MS));
        }
    }
}

pub fn dialed(call: &mut State, result: Result<CarrierCallId, DialError>) {
    match result {
        Ok(id) => leg_known(call, id),
        Err(error) => {
            if let Phase::Dialing { hang_up } = call.phase {
                dial_failed(call, error, hang_up);
            }
        }
    }
}

fn leg_known(call: &mut State, id: CarrierCallId) {
    if !call.leg.dialed || call.leg.id.is_some() {
        return;
    }
    call.leg.id = Some(id.clone());
    if matches!(call.phase, Phase::HangingUp { .. } | Phase::Ended) {
        // The call ended before the carrier's answer, so any leg it created is unwanted.
        call.fx.push(Effect::HangUpLeg(Some(id)));
        return;
    }
    call.fx.push(Effect::WriteDialed(id));
    let detail = json!({ "carrierMs": call.now_ms.saturating_sub(call.leg.dialed_ms) });
    call.record_at("dialed", 0, &detail);
    match call.phase {
        Phase::Dialing { hang_up: true } => ending::end(call, EndReason::Cancelled),
        Phase::Dialing { .. } | Phase::Unknown => ringing(call),
        _ => {}
    }
}

fn ringing(call: &mut State) {
    call.phase = Phase::Ringing;
    call.stop_timer(CallTimer::Settle);
    call.set_timer(CallTimer::Ring, call.rules.ring_timeout_ms);
}

fn dial_failed(call: &mut State, error: DialError, hang_up: bool) {
    let obstacle = Obstacle::of(&error);
    let why = obstacle.map(|obstacle| obstacle.reason);
    let not_sent = |delay_ms| Ending::NotSent { delay_ms, why };
    if !matches!(error, DialError::Unknown(_)) {
        call.leg.over = true;
    }
    match error {
        DialError::InvalidNumber(_) => ending::end(call, EndReason::Failed("invalid-number".into())),
        DialError::Rejected(text) => ending::end(call, EndReason::carrier(&text)),
        DialError::Unclassified { kind, words } => ending::end(call, EndReason::Refused { kind, words }),
        DialError::Busy { retry_after } => {
            let asked = retry_after.map(|pause| i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
            let delay_ms = asked.map_or(BUSY_DELAY_MS, |asked_ms| asked_ms.min(LONGEST_BUSY_DELAY_MS));
            ending::finish_with(call, not_sent(delay_ms));
        }
        DialError::Unreachable(_) => ending::finish_with(call, not_sent(UNREACHABLE_DELAY_MS)),
        DialError::HeldBack(_) => ending::finish_with(call, not_sent(DATABASE_DELAY_MS)),
        // A single call ends here. A campaign would wait until somebody fixes the account.
        DialError::AccountRefused(text) if call.rules.single => {
            ending::end(call, EndReason::carrier(&account_refused(&text)));
        }
        DialError::AccountRefused(_) => ending::finish_with(call, not_sent(ACCOUNT_DELAY_MS)),
        DialError::Unknown(_) if hang_up => ending::end(call, EndReason::Cancelled),
        DialError::Unknown(_) => {
            call.phase = Phase::Unknown;
            call.fx.push(Effect::WriteUnknown);
            call.set_timer(CallTimer::Settle, call.rules.settle_ms);
        }
    }
}

/// Handles a leg that the store has bound otherwise. The first binding of leg and attempt holds, so this
/// call is not ours.
pub fn not_our_leg(call: &mut State, anothers: bool) {
    if !call.leg.dialed {
        return;
    }
    // A leg that another attempt uses is not ours to hang up.
    call.leg.over |= anothers;
    ending::end(call, EndReason::carrier("the call and the attempt belong to others"));
}

pub fn progress(call: &mut State, progress: &CallProgress) {
    if !call.leg.dialed {
        return;
    }
    match progress {
        CallProgress::Placed => {}
        CallProgress::Machine(verdict) => who_answered::carrier_found(call, *verdict),
        CallProgress::Transferred => transfer::transfer_reported(call),
        CallProgress::TransferFailed(why) => transfer::transfer_failed(call, why),
        CallProgress::Ringing => {
            if matches!(call.phase, Phase::Dialing { hang_up: false } | Phase::Unknown) {
                ringing(call);
            }
            if call.phase == Phase::Ringing && !std::mem::replace(&mut call.leg.rang, true) {
                let detail = json!({ "afterDialMs": call.now_ms.saturating_sub(call.leg.dialed_ms) });
                call.record_at("ringing", 0, &detail);
            }
        }
        // In an inbound call we are heard once media is open, whatever the carrier reports as the answer.
        CallProgress::Answered if call.leg.inbound => {}
        CallProgress::Answered => {
            if matches!(
                call.phase,
                Phase::Dialing { hang_up: false } | Phase::Unknown | Phase::Ringing
            ) {
                answered(call);
                call.set_timer(CallTimer::MediaWait, MEDIA_WAIT_MS);
            }
        }
        CallProgress::Ended(cause) => leg_ended(call, cause),
    }
}

fn answered(call: &mut State) {
    call.leg.answered_ms = Some(call.now_ms);
    let detail = json!({ "afterDialMs": call.now_ms.saturating_sub(call.leg.dialed_ms) });
    call.phase = Phase::PickedUp;
    call.fx.extend([
        Effect::CancelTimer(CallTimer::Settle),
        Effect::CancelTimer(CallTimer::Ring),
        Effect::WriteAnswered,
        event_fact("answered", 0, &detail),
    ]);
    disclosing::disclose_anew(call);
    let until_close = call.rules.max_duration_ms - call.rules.closing_lead_ms();
    call.set_timer(CallTimer::MaxDuration, until_close);
}

fn leg_ended(call: &mut State, cause: &EndCause) {
    call.leg.over = true;
    call.end.note_end_by(By::User, None);
    match call.phase.clone() {
        Phase::Transferring(hand_over) => transfer::leg_ended_in_transfer(call, hand_over),
        Phase::Dialing { hang_up: true } => ending::end(call, EndReason::Cancelled),
        Phase::Ringing if call.leg.inbound => ending::end(call, not_taken(cause)),
        Phase::Dialing { .. } | Phase::Unknown | Phase::Ringing => {
            if *cause == EndCause::Completed {
                // The report of the answer is late or lost.
                answered(call);
            }
            ending::end(call, EndReason::from_cause(cause));
        }
        // The call was answered, but nobody could say or hear anything.
        Phase::PickedUp if call.leg.media_ms.is_none() => ending::end(call, EndReason::media_lost()),
        Phase::Closing { reason } => ending::end(call, reason),
        Phase::PickedUp
        | Phase::Greeting
        | Phase::Listening
        | Phase::Thinking
        | Phase::Speaking
        | Phase::Machine(_)
        | Phase::Operator { .. }
        | Phase::Lost(_) => ending::end(call, EndReason::Completed),
        Phase::Scheduled { .. } | Phase::HangingUp { .. } | Phase::Ended => {}
    }
}

pub fn media_opened(call: &mut State) {
    if !call.lacks_media() && !call.replaces_media() {
        return;
    }
    match call.phase {
        Phase::Listening | Phase::Thinking | Phase::Speaking | Phase::Operator { .. } => {
            return transfer::caller_came_back(call);
        }
        Phase::Lost(resume) => return lost::media_is_back(call, resume),
        Phase::Transferring(_) => {
            transfer::operator_leaves_transfer(call, "transferred");
            lost::join_stream(call);
            return transfer::caller_is_back(call);
        }
        _ => {}
    }
    if call.leg.answered_ms.is_none() {
        answered(call);
    }
    call.leg.media_ms = Some(call.now_ms);
    call.leg.stream_open = true;
    call.fx
        .extend([Effect::CancelTimer(CallTimer::MediaWait), Effect::OpenStream]);
    if call.leg.inbound {
        // A caller waits for us to speak, and may interrupt from the first word on.
        call.leg.barge_in = true;
        call.fx.push(Effect::AllowBargeIn(true));
        talk::greet(call);
        return;
    }
    call.fx.extend([
        Effect::AllowBargeIn(false),
        Effect::SetTimer(CallTimer::BargeIn, BARGE_IN_AFTER_MS),
        Effect::SetTimer(CallTimer::PickUp, PICK_UP_MS),
    ]);
    if let Some(verdict) = call.answerer.carrier_said() {
        who_answered::take_carriers_word(call, verdict);
    }
}

pub fn rang_long_enough(call: &mut State) {
    if call.phase == Phase::Ringing {
        ending::end(call, EndReason::no_answer());
    }
}

pub fn outcome_stays_unknown(call: &mut State) {
    if call.phase == Phase::Unknown {
        // Nothing was found to hang up, and a late ring will be rejected by the webhook.
        call.leg.over = true;
        ending::end(call, EndReason::carrier("outcome unknown"));
    }
}

pub fn media_never_came(call: &mut State) {
    let waits = call.phase == Phase::PickedUp || (call.leg.inbound && call.phase == Phase::Ringing);
    if waits && call.leg.media_ms.is_none() {
        ending::end(call, EndReason::media_lost());
    }
}
