//! A mailbox answered: the call waits for its beep, leaves a message if there is one, and ends.

use media::amd::Verdict;
use serde_json::{Value, json};

use crate::call::state::{Machine, Phase, State, disclosing, ending, speech, who_answered};
use crate::call::{CallTimer, EndReason};
use domain::ports::carrier::MachineVerdict;

/// Longest wait for the beep in milliseconds.
const BEEP_WAIT_MS: u64 = 30_000;

/// Silence in milliseconds after the greeting without a beep, after which the mailbox is assumed to record.
const NO_BEEP_MS: u64 = 2_500;

/// Time in milliseconds to listen to a machine that only the carrier has found, if no message is left. It may
/// turn out to be a menu or an assistant that asks who calls, which carriers do not distinguish from a
/// mailbox.
const LISTEN_MS: u64 = 10_000;

/// Handles a mailbox. It is `certain` if its words or its beep showed it.
pub fn mailbox_answered(call: &mut State, certain: bool) {
    call.answerer.voicemail = true;
    who_answered::fall_silent(call);
    call.phase = Phase::Machine(Machine::Beep);
    if call.rules.voicemail_message.is_none() {
        match certain || call.answerer.beep_heard {
            true => ending::end(call, EndReason::Completed),
            false => call.set_timer(CallTimer::Machine, LISTEN_MS),
        }
    } else if call.answerer.beep_heard {
        leave_message(call, true);
    } else {
        call.set_timer(CallTimer::Machine, BEEP_WAIT_MS);
        if !call.user.speaking {
            call.set_timer(CallTimer::Quiet, NO_BEEP_MS);
        }
    }
}

/// Handles a pause of the greeting since `ended_ms`, in the stream's time. The greeting may be over.
pub fn greeting_paused(call: &mut State, ended_ms: u64) {
    if call.rules.voicemail_message.is_none() {
        return;
    }
    let silent_ms = call.stream_ms(call.now_ms).saturating_sub(ended_ms);
    let left_ms = NO_BEEP_MS.saturating_sub(silent_ms).max(1);
    call.set_timer(CallTimer::Quiet, left_ms);
}

pub fn beep(call: &mut State, at_ms: u64) {
    // A mailbox may be recognised only after its beep.
    call.answerer.beep_heard = true;
    call.record_at("beep", call.call_ms(at_ms), &json!({}));
    // Words before the beep were not recorded.
    if let Phase::Machine(Machine::Beep | Machine::Message { beeped: false }) = call.phase {
        leave_message(call, true);
    }
}

pub fn leave_message(call: &mut State, beeped: bool) {
    call.stop_timer(CallTimer::Machine);
    call.stop_timer(CallTimer::Quiet);
    call.phase = Phase::Machine(Machine::Message { beeped });
    match call.rules.voicemail_message.clone() {
        Some(message) => {
            disclosing::disclose_anew(call);
            let protected = call.rules.voicemail_protected || call.answerer.message_cut;
            speech::say_all(call, &message, protected);
        }
        None => ending::end(call, EndReason::Completed),
    }
}

/// Handles voice that stopped the message. Once it is over, the message is said again, and then nothing
/// stops it, so that a mailbox that talks over it cannot hold the call.
pub fn message_interrupted(call: &mut State) {
    call.answerer.message_cut = true;
    call.user.speaking = true;
    call.answerer.beep_heard = false;
    call.phase = Phase::Machine(Machine::Beep);
    call.set_timer(CallTimer::Machine, BEEP_WAIT_MS);
}

/// Handles the model's report that a mailbox answered. Returns the tool's result.
pub fn model_found_mailbox(call: &mut State) -> Value {
    if call.answerer.carrier_said == Some(MachineVerdict::Human) {
        return json!({ "error": "the carrier found that a person answered: go on with the conversation" });
    }
    let at_ms = call.elapsed_ms(call.now_ms);
    let detail = json!({ "verdict": Verdict::Voicemail.as_str(), "reason": "model", "atMs": at_ms });
    call.record_at("amd", at_ms, &detail);
    mailbox_answered(call, true);
    json!({ "ok": true })
}
