//! A machine answered: its beep is waited for, a message is left when there is one, and the call ends.

use super::{Effect, EndReason, Phase, State, event_fact};
use crate::call::{CallTimer, voicemail::is_machine_greeting};

/// A machine gives itself away in its first words: this many utterances, begun this early in the call.
const FIRST_UTTERANCES: usize = 3;
const FIRST_WORDS_UNTIL_MS: u64 = 25_000;

/// How long the beep is waited for.
const BEEP_WAIT_MS: u64 = 10_000;

impl State {
    /// Adds an utterance to the call's first words; true when they are a machine's.
    pub(super) fn heard_a_machine(&mut self, text: &str, started_ms: u64) -> bool {
        self.user.utterances += 1;
        if self.user.utterances > FIRST_UTTERANCES || started_ms > FIRST_WORDS_UNTIL_MS {
            return false;
        }
        self.user.first_words.push(' ');
        self.user.first_words.push_str(text);
        is_machine_greeting(&self.user.first_words)
    }

    pub(super) fn machine_answered(&mut self, fx: &mut Vec<Effect>) {
        self.voicemail = true;
        fx.push(event_fact("voicemail", 0, "{}"));
        fx.push(Effect::CancelReply);
        self.reply.open = false;
        self.leave_listening_timers(fx);
        fx.push(Effect::CancelTimer(CallTimer::PickUp));
        if self.speech.is_some() {
            // Its report must not be taken for the message's.
            fx.push(Effect::StopSpeaking);
            self.replaced = self.speech.take();
        }
        self.phase = Phase::Voicemail { speaking: false };
        if self.rules.voicemail_message.is_none() {
            self.end(EndReason::Completed, fx);
        } else if self.user.beep_heard {
            self.leave_message(fx);
        } else {
            fx.push(Effect::SetTimer(CallTimer::Beep, BEEP_WAIT_MS));
        }
    }

    pub(super) fn beep(&mut self, at_ms: u64, fx: &mut Vec<Effect>) {
        // A machine's words may become known only after its beep.
        self.user.beep_heard = true;
        fx.push(event_fact("beep", self.call_ms(at_ms), "{}"));
        self.leave_message(fx);
    }

    pub(super) fn beep_did_not_come(&mut self, fx: &mut Vec<Effect>) {
        self.leave_message(fx);
    }

    fn leave_message(&mut self, fx: &mut Vec<Effect>) {
        if self.phase != (Phase::Voicemail { speaking: false }) {
            return;
        }
        fx.push(Effect::CancelTimer(CallTimer::Beep));
        self.phase = Phase::Voicemail { speaking: true };
        if let Some(message) = self.rules.voicemail_message.clone() {
            self.say_all(&message, true, fx);
        }
    }
}
