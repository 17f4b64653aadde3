//! A mailbox answered: the call waits for its beep, leaves a message if there is one, and ends.

use media::amd::Verdict;
use serde_json::{Value, json};

use super::{Effect, EndReason, MachineVerdict, Phase, State, who_answered::Machine};
use crate::call::CallTimer;

/// Longest wait for the beep in milliseconds.
const BEEP_WAIT_MS: u64 = 30_000;

/// Silence in milliseconds after the greeting without a beep, after which the mailbox is assumed to record.
const NO_BEEP_MS: u64 = 2_500;

/// Time in milliseconds to listen to a machine that only the carrier has found, if no message is left. It may
/// turn out to be a menu or an assistant that asks who calls, which carriers do not distinguish from a
/// mailbox.
const LISTEN_MS: u64 = 10_000;

impl State {
    /// Handles a mailbox. It is `certain` if its words or its beep showed it.
    pub(super) fn mailbox_answered(&mut self, certain: bool) {
        self.voicemail = true;
        self.fall_silent();
        self.phase = Phase::Machine(Machine::Beep);
        if self.rules.voicemail_message.is_none() {
            match certain || self.user.beep_heard {
                true => self.end(EndReason::Completed),
                false => self.fx.push(Effect::SetTimer(CallTimer::Machine, LISTEN_MS)),
            }
        } else if self.user.beep_heard {
            self.leave_message(true);
        } else {
            self.fx.push(Effect::SetTimer(CallTimer::Machine, BEEP_WAIT_MS));
            if !self.user.speaking {
                self.fx.push(Effect::SetTimer(CallTimer::Quiet, NO_BEEP_MS));
            }
        }
    }

    /// Handles a pause of the greeting since `ended_ms`, in the stream's time. The greeting may be over.
    pub(super) fn greeting_paused(&mut self, ended_ms: u64) {
        if self.rules.voicemail_message.is_none() {
            return;
        }
        let silent_ms = self.stream_ms(self.now_ms).saturating_sub(ended_ms);
        let left_ms = NO_BEEP_MS.saturating_sub(silent_ms).max(1);
        self.fx.push(Effect::SetTimer(CallTimer::Quiet, left_ms));
    }

    pub(super) fn beep(&mut self, at_ms: u64) {
        // A mailbox may be recognised only after its beep.
        self.user.beep_heard = true;
        self.record_at("beep", self.call_ms(at_ms), &json!({}));
        // Words before the beep were not recorded.
        if let Phase::Machine(Machine::Beep | Machine::Message { beeped: false }) = self.phase {
            self.leave_message(true);
        }
    }

    pub(super) fn leave_message(&mut self, beeped: bool) {
        self.fx.push(Effect::CancelTimer(CallTimer::Machine));
        self.fx.push(Effect::CancelTimer(CallTimer::Quiet));
        self.phase = Phase::Machine(Machine::Message { beeped });
        match self.rules.voicemail_message.clone() {
            Some(message) => {
                self.disclose_anew();
                let protected = self.rules.voicemail_protected || self.message_cut;
                self.say_all(&message, protected);
            }
            None => self.end(EndReason::Completed),
        }
    }

    /// Handles voice that stopped the message. Once it is over, the message is said again, and then nothing
    /// stops it, so that a mailbox that talks over it cannot hold the call.
    pub(super) fn message_interrupted(&mut self) {
        self.message_cut = true;
        self.user.speaking = true;
        self.user.beep_heard = false;
        self.phase = Phase::Machine(Machine::Beep);
        self.fx.push(Effect::SetTimer(CallTimer::Machine, BEEP_WAIT_MS));
    }

    /// Handles the model's report that a mailbox answered. Returns the tool's result.
    pub(super) fn model_found_mailbox(&mut self) -> Value {
        if self.carrier_said == Some(MachineVerdict::Human) {
            return json!({ "error": "the carrier found that a person answered: go on with the conversation" });
        }
        let at_ms = self.elapsed_ms(self.now_ms);
        let detail = json!({ "verdict": Verdict::Voicemail.as_str(), "reason": "model", "atMs": at_ms });
        self.record_at("amd", at_ms, &detail);
        self.mailbox_answered(true);
        json!({ "ok": true })
    }
}
