//! Handles a media socket that died while the carrier may still hold the call: the carrier is asked to open
//! another, and the call continues where it was.

use serde_json::json;

use super::{
    Effect, EndReason, Latency, Phase, State,
    leg::{BARGE_IN_AFTER_MS, PICK_UP_MS},
    taken_over::Opening,
    who_answered::Machine,
};
use crate::call::CallTimer;

/// Number of times a call's media socket is reopened.
const MOST_REOPENED: u32 = 3;

/// Time in milliseconds the carrier has to reopen it.
const REOPEN_MS: u64 = 8_000;

/// Time in milliseconds to wait for the question of a carrier that asks by itself how a call goes on. After
/// that it is asked for the socket.
const COMES_BACK_MS: u64 = 2_500;

/// Number of times a carrier may ask one process how a call goes on. If no socket lasts, the call ends.
const MOST_RETURNS: u32 = 8;

/// Time in milliseconds the carrier has to report that the call just ended, if the socket will not come back.
const END_REPORT_MS: u64 = 3_000;

/// Point at which the call continues when the media is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// It does not continue; only the report of its end is awaited.
    No,
    /// Before the greeting.
    PickUp,
    /// The agent speaks.
    Talk,
    /// The user's last words are answered.
    Answer,
    /// With a machine.
    Machine(Machine),
    /// In the middle of a call that another process held.
    TakenOver(Opening),
    /// After a transfer that failed. Tells whether the call's time was up meanwhile.
    Transfer { overdue: bool },
}

/// Requests for a lost media socket. Each has a number, and their count is limited.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MediaWishes {
    counted: u32,
    last: u32,
    /// Number of times the carrier asked by itself.
    returns: u32,
    /// The carrier should ask by itself after the last loss. If it does not, it is asked for the socket once.
    waits: bool,
}

impl MediaWishes {
    /// Creates the state of a call that has already moved between nodes `returns` times.
    pub(super) fn after(returns: u32) -> Self {
        Self {
            returns,
            ..Self::default()
        }
    }

    /// Counts a request after a loss. Returns `None` if the limit is reached.
    pub(super) fn count(&mut self) -> Option<u32> {
        if self.counted == MOST_REOPENED {
            return None;
        }
        self.counted += 1;
        Some(self.uncounted())
    }

    /// Counts a request for a caller whom the carrier is bringing back. It is not limited, since the transfer
    /// closed the socket, not the line.
    fn uncounted(&mut self) -> u32 {
        self.last += 1;
        self.last
    }
}

impl State {
    pub(super) fn lose_media(&mut self) {
        let resume = match self.phase {
            Phase::PickedUp => Resume::PickUp,
            Phase::Greeting | Phase::Listening | Phase::Speaking | Phase::Operator { .. } => Resume::Talk,
            Phase::Thinking => Resume::Answer,
            Phase::Machine(machine) => Resume::Machine(machine),
            Phase::Scheduled { .. }
            | Phase::Dialing { .. }
            | Phase::Unknown
            | Phase::Ringing
            | Phase::Transferring(_)
            | Phase::Closing { .. }
            | Phase::Lost(_)
            | Phase::HangingUp { .. }
            | Phase::Ended => Resume::No,
        };
        if self.operator_gone("lost") {
            self.fx
                .push(Effect::SetTimer(CallTimer::Closing, self.rules.closing_lead_ms()));
        }
        self.drop_reply();
        self.keep_keys();
        self.leave_listening();
        for timer in [
            CallTimer::Filler,
            CallTimer::PickUp,
            CallTimer::Machine,
            CallTimer::Quiet,
        ] {
            self.fx.push(Effect::CancelTimer(timer));
        }
        self.await_media(resume, true);
    }

    /// Waits for the media to come back. With `asks`, the carrier is also asked for it.
    pub(super) fn await_media(&mut self, resume: Resume, asks: bool) {
        if let Some(cut) = self.speech.take() {
            self.replaced = Some(cut);
        }
        self.reply.end_call = false;
        self.reply.transfer = None;
        self.lost_ms = self.now_ms;
        let wish = match resume {
            _ if self.leg.id.is_none() => None,
            Resume::No => None,
            Resume::Transfer { .. } if asks => Some(self.media_wishes.uncounted()),
            Resume::Transfer { .. } => Some(self.media_wishes.last),
            Resume::PickUp | Resume::Talk | Resume::Answer | Resume::Machine(_) | Resume::TakenOver(_) => {
                self.media_wishes.count()
            }
        };
        let Some(try_no) = wish else {
            self.phase = Phase::Lost(Resume::No);
            self.fx.push(Effect::SetTimer(CallTimer::EndReport, END_REPORT_MS));
            return;
        };
        self.phase = Phase::Lost(resume);
        self.fx.push(Effect::SetTimer(CallTimer::EndReport, REOPEN_MS));
        self.record("media_lost", &json!({}));
        if asks && self.rules.carrier.comes_back {
            // Two sockets at once would interfere with each other.
            self.media_wishes.waits = true;
            self.fx.push(Effect::SetTimer(CallTimer::Reopen, COMES_BACK_MS));
        } else if asks {
            self.fx.push(Effect::ReopenMedia { try_no });
        }
    }

    /// Asks the carrier for the socket if it has not asked by itself how the call goes on.
    pub(super) fn reopen(&mut self) {
        match self.phase {
            Phase::Lost(_) if !std::mem::take(&mut self.media_wishes.waits) => {}
            Phase::Lost(resume) if resume != Resume::No && !self.leg.stream_open && !self.leg.over => {
                let try_no = self.media_wishes.last;
                self.fx.push(Effect::ReopenMedia { try_no });
            }
            _ => self.reopen_in_transfer(),
        }
    }

    /// Handles the carrier's question how the call goes on: the media socket is gone, whatever we know of it.
    /// Afterwards the call lacks media if it continues with another socket; otherwise it is over or about to
    /// end.
    pub(super) fn came_back(&mut self) {
        self.fx.push(Effect::CancelTimer(CallTimer::Reopen));
        self.media_wishes.returns += 1;
        let too_often = self.media_wishes.returns > MOST_RETURNS;
        let waits_for_first = self.leg.media_ms.is_none() && !matches!(self.phase, Phase::Lost(_));
        if !waits_for_first && std::mem::take(&mut self.leg.stream_open) {
            self.fx.push(Effect::CloseStream);
            match self.phase {
                Phase::Transferring(_) => self.media_closed_in_transfer(false),
                Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Ended => self.leg.stream_open = true,
                _ => self.lose_media(),
            }
            self.fx.push(Effect::CancelTimer(CallTimer::Reopen));
        }
        match self.phase {
            Phase::Lost(resume) if resume != Resume::No && too_often => {
                self.phase = Phase::Lost(Resume::No);
                self.fx.push(Effect::SetTimer(CallTimer::EndReport, END_REPORT_MS));
            }
            Phase::Lost(resume) if resume != Resume::No => {
                self.fx.push(Effect::SetTimer(CallTimer::EndReport, REOPEN_MS));
            }
            _ if waits_for_first && too_often => self.end(EndReason::media_lost()),
            _ => {}
        }
    }

    /// Returns how often the carrier asked how the call goes on.
    pub fn returns(&self) -> u32 {
        self.media_wishes.returns
    }

    /// Handles a carrier that does not reopen the socket: only the report of the end is awaited.
    pub(super) fn not_reopened(&mut self, try_no: u32) {
        if try_no != self.media_wishes.last {
            return;
        }
        self.not_reopened_in_transfer();
        if matches!(self.phase, Phase::Lost(_)) {
            let waited_ms = self.now_ms.saturating_sub(self.lost_ms);
            let left_ms = END_REPORT_MS.saturating_sub(waited_ms).max(1);
            self.fx.push(Effect::SetTimer(CallTimer::EndReport, left_ms));
        }
    }

    /// Continues the call after the media socket is open again. The stream's time starts anew.
    pub(super) fn media_is_back(&mut self, resume: Resume) {
        self.join_stream();
        self.fx.push(Effect::CancelTimer(CallTimer::EndReport));
        self.fx.push(Effect::CancelTimer(CallTimer::Reopen));
        let detail = json!({ "afterMs": self.now_ms.saturating_sub(self.lost_ms) });
        self.record("media_back", &detail);
        match resume {
            Resume::No => {}
            Resume::PickUp => {
                self.phase = Phase::PickedUp;
                self.leg.rejoined = false;
                self.fx.push(Effect::SetTimer(CallTimer::PickUp, PICK_UP_MS));
            }
            // Nothing else was said.
            Resume::Talk if self.must_disclose() => self.greet(),
            Resume::Talk => {
                self.phase = Phase::Speaking;
                self.reply.protected = false;
                // A yes to this question is no answer to what was asked before.
                self.opt_out_not_answered();
                self.say_all(self.rules.phrases.cut_off, false);
            }
            // The other agent answers once it has been looked up.
            Resume::Answer if self.taking_over.is_some() => self.phase = Phase::Thinking,
            Resume::Answer => self.answer_words(),
            Resume::Machine(machine) => self.machine_is_back(machine),
            Resume::TakenOver(opening) => self.go_on_as_heir(opening),
            Resume::Transfer { overdue } => self.go_on_after_transfer(overdue),
        }
        if let Some(verdict) = self.carrier_said.filter(|_| std::mem::take(&mut self.carrier_due)) {
            self.take_carriers_word(verdict);
        }
    }

    /// Joins a stream that replaces a lost one, and resets everything tied to the old stream's time.
    pub(super) fn join_stream(&mut self) {
        self.leg.media_ms = Some(self.now_ms);
        self.leg.stream_open = true;
        self.leg.dying = false;
        self.leg.deaf = None;
        self.leg.rejoined = true;
        self.leg.outlived = false;
        self.leg.barge_in = true;
        self.user.speaking = false;
        self.user.beep_heard = false;
        self.latency = Latency::default();
        self.fx.extend([
            Effect::CancelTimer(CallTimer::BargeIn),
            Effect::OpenStream,
            Effect::AllowBargeIn(true),
        ]);
    }

    /// Returns the stream time before which words belong to the pick-up.
    pub(super) fn pick_up_ends_ms(&self) -> u64 {
        match self.leg.rejoined {
            false => BARGE_IN_AFTER_MS,
            true => 0,
        }
    }
}
