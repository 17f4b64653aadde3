//! All ways a call ends, and the steps from there to the outcome.

use serde_json::json;

use super::{By, Effect, EndReason, Phase, State, speculation::Waste};
use crate::call::{CallTimer, outcome::Ending};

/// Time in milliseconds in which the audio stream must report the last words heard.
const LAST_WORDS_MS: u64 = 1_000;

/// Longest duration of a goodbye, in milliseconds.
pub(super) const GOODBYE_MS: u64 = 8_000;

impl State {
    /// Ends the call for `reason`: the leg is hung up if it lives, then the outcome is written.
    pub(super) fn end(&mut self, reason: EndReason) {
        if matches!(self.phase, Phase::HangingUp { .. } | Phase::Ended) {
            return;
        }
        self.operator_gone(if self.transferred { "transferred" } else { "call_ended" });
        self.drop_reply();
        self.keep_keys();
        if self.leg.dialed && !self.leg.over {
            self.leg.over = true;
            self.fx.push(Effect::HangUpLeg(self.leg.id.clone()));
        }
        if self.leg.stream_open {
            self.fx.extend([Effect::StopSpeaking, Effect::CloseStream]);
            self.fx.push(Effect::SetTimer(CallTimer::EndReport, LAST_WORDS_MS));
            self.phase = Phase::HangingUp { reason };
        } else {
            self.finish(reason);
        }
    }

    fn finish(&mut self, reason: EndReason) {
        let mut outcome = reason.outcome(self.voicemail, self.history.collected().clone());
        outcome.transferred = self.transferred;
        self.finish_with(Ending::Outcome(outcome));
    }

    pub(super) fn finish_with(&mut self, ending: Ending) {
        let ending = match ending {
            Ending::NotSent { .. } if self.unwanted => {
                Ending::Outcome(EndReason::Cancelled.outcome(false, Default::default()))
            }
            other => other,
        };
        if self.phase != Phase::Ended {
            self.phase = Phase::Ended;
            self.keep_words_over_speech();
            self.record_end(&ending);
            self.fx.push(Effect::Finish(ending));
        }
    }

    /// Drops the rest of the reply, the reply made ahead, and a hand-over to another agent.
    pub(super) fn drop_reply(&mut self) {
        self.drop_early(Waste::Overtaken);
        self.stop_walking();
        self.keep_agent();
        self.fx.push(Effect::CancelReply);
        self.reply.open = false;
    }

    /// Drops the rest of the reply with all that should follow it: a filler, the end of the call, a transfer.
    pub(super) fn stop_reply(&mut self) {
        self.drop_reply();
        self.fx.push(Effect::CancelTimer(CallTimer::Filler));
        self.reply.cutter.finish();
        self.reply.end_call = false;
        self.reply.transfer = None;
    }

    /// Says a last sentence, then ends for `reason`, after `within_ms` at the latest.
    pub(super) fn say_goodbye(&mut self, text: &str, reason: EndReason, within_ms: u64) {
        self.drop_reply();
        self.stop_speech();
        self.leave_listening_timers();
        self.phase = Phase::Closing { reason };
        let within_ms = within_ms + self.disclosure_ms();
        self.say_all(text, true);
        self.fx.push(Effect::SetTimer(CallTimer::Closing, within_ms));
    }

    /// Notes that the present stream no longer recognises speech. Outside the conversation this matters only
    /// once it begins.
    pub(super) fn deaf(&mut self, why: String) {
        if self.in_conversation() {
            self.give_up(&why);
        } else {
            self.leg.deaf = Some(why);
        }
    }

    /// Apologises and ends the call, because a part of the agent is broken for good.
    pub(super) fn give_up(&mut self, why: &str) {
        if self.in_conversation() {
            self.ends(By::Fault, None);
            self.say_goodbye(self.rules.phrases.broken, EndReason::agent(why), GOODBYE_MS);
        }
    }

    /// Handles the request to end the call.
    pub(super) fn hang_up(&mut self) {
        self.ends(By::Request, None);
        match &mut self.phase {
            Phase::Scheduled { hang_up } | Phase::Dialing { hang_up } => *hang_up = true,
            Phase::Unknown | Phase::Ringing => self.end(EndReason::Cancelled),
            Phase::PickedUp
            | Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Machine(_)
            | Phase::Transferring(_)
            | Phase::Operator { .. }
            | Phase::Closing { .. }
            | Phase::Lost(_) => self.end(EndReason::Completed),
            Phase::HangingUp { .. } | Phase::Ended => {}
        }
    }

    /// Handles the approaching end of `maxDurationSeconds`.
    pub(super) fn time_is_up(&mut self) {
        let lead_ms = self.rules.closing_lead_ms();
        match self.phase {
            Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking => {
                self.ends(By::Agent, Some("max_duration"));
                self.say_goodbye(self.rules.phrases.time_is_up, EndReason::Completed, lead_ms);
            }
            // Nobody would hear a closing sentence, so only the hard limit applies.
            Phase::PickedUp | Phase::Machine(_) | Phase::Lost(_) => {
                self.fx.push(Effect::SetTimer(CallTimer::Closing, lead_ms));
            }
            // A goodbye that is playing gets the remaining time at most.
            Phase::Closing { .. } => self.fx.push(Effect::SetTimer(CallTimer::Closing, lead_ms)),
            Phase::Transferring(_) => self.overdue_in_transfer(),
            Phase::Operator { .. } => self.overdue_for_operator(),
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::HangingUp { .. }
            | Phase::Ended => {}
        }
    }

    pub(super) fn closing_time_over(&mut self) {
        match &self.phase {
            Phase::Closing { reason } => {
                let reason = reason.clone();
                self.end(reason);
            }
            // Time was up while nobody would have heard a closing sentence.
            Phase::PickedUp
            | Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Machine(_)
            | Phase::Lost(_) => {
                self.ends(By::Agent, Some("max_duration"));
                self.end(EndReason::Completed);
            }
            Phase::Transferring(_) => self.overdue_in_transfer(),
            Phase::Operator { .. } => self.overdue_for_operator(),
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::HangingUp { .. }
            | Phase::Ended => {}
        }
    }

    /// Handles the close of the media socket.
    pub(super) fn media_closed(&mut self, clean: bool) {
        self.leg.dying = false;
        if clean
            && !matches!(
                self.phase,
                Phase::HangingUp { .. } | Phase::Transferring(_) | Phase::Lost(_)
            )
        {
            self.ends(By::User, None);
        }
        match &self.phase {
            Phase::HangingUp { reason } => {
                let reason = reason.clone();
                self.leg.stream_open = false;
                self.finish(reason);
            }
            Phase::Closing { reason } if clean => {
                let reason = reason.clone();
                self.leg.over = true;
                self.leg.stream_open = false;
                self.end(reason);
            }
            Phase::PickedUp
            | Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Machine(_)
            | Phase::Operator { .. }
            | Phase::Closing { .. } => {
                self.leg.stream_open = false;
                if clean {
                    self.leg.over = true;
                    self.end(EndReason::Completed);
                } else {
                    self.lose_media();
                }
            }
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::Lost(_)
            | Phase::Ended => self.leg.stream_open = false,
            Phase::Transferring(_) => {
                self.leg.stream_open = false;
                self.media_closed_in_transfer(clean);
            }
        }
    }

    /// Handles the end of the audio stream's actor.
    pub(super) fn stream_gone(&mut self, crashed: bool) {
        let was_open = std::mem::take(&mut self.leg.stream_open);
        let matters = !matches!(
            self.phase,
            Phase::Transferring(_) | Phase::HangingUp { .. } | Phase::Ended
        );
        if crashed && was_open && matters {
            self.record("stream_crashed", &json!({}));
            self.end(EndReason::agent("audio stream crashed"));
        } else if was_open {
            self.media_closed(false);
        }
    }

    pub(super) fn end_report_missing(&mut self) {
        match &self.phase {
            Phase::Lost(_) => self.end(EndReason::media_lost()),
            Phase::HangingUp { reason } => {
                let reason = reason.clone();
                self.leg.stream_open = false;
                self.finish(reason);
            }
            _ => {}
        }
    }
}
