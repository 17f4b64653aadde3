//! Handles a media socket that died while the carrier may still hold the call: the carrier is asked to open
//! another, and the call continues where it was.

use serde_json::json;

use crate::call::state::{
    Effect, Latency, Machine, Phase, State, disclosing, ending, keys, leg::BARGE_IN_AFTER_MS, leg::PICK_UP_MS,
    operator, opt_out, speech, taken_over, taken_over::Opening, talk, transfer, walking, who_answered,
};
use crate::call::{CallTimer, EndReason};

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
pub enum Resume {
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
pub struct MediaWishes {
    counted: u32,
    last: u32,
    /// Number of times the carrier asked by itself.
    returns: u32,
    /// The carrier should ask by itself after the last loss. If it does not, it is asked for the socket once.
    waits: bool,
}

impl MediaWishes {
    /// Creates the state of a call that has already moved between nodes `returns` times.
    pub fn after(returns: u32) -> Self {
        Self {
            returns,
            ..Self::default()
        }
    }

    /// Returns how often the carrier asked by itself.
    pub fn returns(self) -> u32 {
        self.returns
    }

    /// Counts a request after a loss. Returns `None` if the limit is reached.
    pub fn count(&mut self) -> Option<u32> {
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

pub fn lose_media(call: &mut State) {
    let resume = match call.phase {
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
    if operator::operator_gone(call, "lost") {
        call.set_timer(CallTimer::Closing, call.rules.closing_lead_ms());
    }
    ending::drop_reply(call);
    keys::keep_keys(call);
    talk::leave_listening(call);
    for timer in [
        CallTimer::Filler,
        CallTimer::PickUp,
        CallTimer::Machine,
        CallTimer::Quiet,
    ] {
        call.stop_timer(timer);
    }
    await_media(call, resume, true);
}

/// Waits for the media to come back. With `asks`, the carrier is also asked for it.
pub fn await_media(call: &mut State, resume: Resume, asks: bool) {
    if let Some(cut) = call.speech.take() {
        call.replaced = Some(cut);
    }
    call.reply.end_call = false;
    call.reply.transfer = None;
    call.lost_ms = call.now_ms;
    let wish = match resume {
        _ if call.leg.id.is_none() => None,
        Resume::No => None,
        Resume::Transfer { .. } if asks => Some(call.media_wishes.uncounted()),
        Resume::Transfer { .. } => Some(call.media_wishes.last),
        Resume::PickUp | Resume::Talk | Resume::Answer | Resume::Machine(_) | Resume::TakenOver(_) => {
            call.media_wishes.count()
        }
    };
    let Some(try_no) = wish else {
        call.phase = Phase::Lost(Resume::No);
        call.set_timer(CallTimer::EndReport, END_REPORT_MS);
        return;
    };
    call.phase = Phase::Lost(resume);
    call.set_timer(CallTimer::EndReport, REOPEN_MS);
    call.record("media_lost", &json!({}));
    if asks && call.rules.carrier.comes_back {
        // Two sockets at once would interfere with each other.
        call.media_wishes.waits = true;
        call.set_timer(CallTimer::Reopen, COMES_BACK_MS);
    } else if asks {
        call.fx.push(Effect::ReopenMedia { try_no });
    }
}

/// Asks the carrier for the socket if it has not asked by itself how the call goes on.
pub fn reopen(call: &mut State) {
    match call.phase {
        Phase::Lost(_) if !std::mem::take(&mut call.media_wishes.waits) => {}
        Phase::Lost(resume) if resume != Resume::No && !call.leg.stream_open && !call.leg.over => {
            let try_no = call.media_wishes.last;
            call.fx.push(Effect::ReopenMedia { try_no });
        }
        _ => transfer::reopen_in_transfer(call),
    }
}

/// Handles the carrier's question how the call goes on: the media socket is gone, whatever we know of it.
/// Afterwards the call lacks media if it continues with another socket; otherwise it is over or about to
/// end.
pub fn came_back(call: &mut State) {
    call.stop_timer(CallTimer::Reopen);
    call.media_wishes.returns += 1;
    let too_often = call.media_wishes.returns > MOST_RETURNS;
    let waits_for_first = call.leg.media_ms.is_none() && !matches!(call.phase, Phase::Lost(_));
    if !waits_for_first && std::mem::take(&mut call.leg.stream_open) {
        call.fx.push(Effect::CloseStream);
        match call.phase {
            Phase::Transferring(_) => transfer::media_closed_in_transfer(call, false),
            Phase::Closing { .. } | Phase::HangingUp { .. } | Phase::Ended => call.leg.stream_open = true,
            _ => lose_media(call),
        }
        call.stop_timer(CallTimer::Reopen);
    }
    match call.phase {
        Phase::Lost(resume) if resume != Resume::No && too_often => {
            call.phase = Phase::Lost(Resume::No);
            call.set_timer(CallTimer::EndReport, END_REPORT_MS);
        }
        Phase::Lost(resume) if resume != Resume::No => {
            call.set_timer(CallTimer::EndReport, REOPEN_MS);
        }
        _ if waits_for_first && too_often => ending::end(call, EndReason::media_lost()),
        _ => {}
    }
}

/// Handles a carrier that does not reopen the socket: only the report of the end is awaited.
pub fn not_reopened(call: &mut State, try_no: u32) {
    if try_no != call.media_wishes.last {
        return;
    }
    transfer::not_reopened_in_transfer(call);
    if matches!(call.phase, Phase::Lost(_)) {
        let waited_ms = call.now_ms.saturating_sub(call.lost_ms);
        let left_ms = END_REPORT_MS.saturating_sub(waited_ms).max(1);
        call.set_timer(CallTimer::EndReport, left_ms);
    }
}

/// Continues the call after the media socket is open again. The stream's time starts anew.
pub fn media_is_back(call: &mut State, resume: Resume) {
    join_stream(call);
    call.stop_timer(CallTimer::EndReport);
    call.stop_timer(CallTimer::Reopen);
    let detail = json!({ "afterMs": call.now_ms.saturating_sub(call.lost_ms) });
    call.record("media_back", &detail);
    match resume {
        Resume::No => {}
        Resume::PickUp => {
            call.phase = Phase::PickedUp;
            call.leg.rejoined = false;
            call.set_timer(CallTimer::PickUp, PICK_UP_MS);
        }
        // Nothing else was said.
        Resume::Talk if disclosing::must_disclose(call) => talk::greet(call),
        Resume::Talk => {
            call.phase = Phase::Speaking;
            call.reply.protected = false;
            // A yes to this question is no answer to what was asked before.
            opt_out::opt_out_not_answered(call);
            let words = call.rules.phrases.cut_off;
            speech::say_all(call, words, false);
        }
        // The other agent answers once it has been looked up.
        Resume::Answer if call.handovers.is_changing() => call.phase = Phase::Thinking,
        Resume::Answer => walking::answer_words(call),
        Resume::Machine(machine) => who_answered::machine_is_back(call, machine),
        Resume::TakenOver(opening) => taken_over::go_on_as_heir(call, opening),
        Resume::Transfer { overdue } => transfer::go_on_after_transfer(call, overdue),
    }
    if let Some(verdict) = call.answerer.take_due() {
        who_answered::take_carriers_word(call, verdict);
    }
}

/// Joins a stream that replaces a lost one, and resets everything tied to the old stream's time.
pub fn join_stream(call: &mut State) {
    call.leg.media_ms = Some(call.now_ms);
    call.leg.stream_open = true;
    call.leg.dying = false;
    call.leg.deaf = None;
    call.leg.rejoined = true;
    call.leg.outlived = false;
    call.leg.barge_in = true;
    call.user.speaking = false;
    call.answerer.forget_beep();
    call.latency = Latency::default();
    call.fx.extend([
        Effect::CancelTimer(CallTimer::BargeIn),
        Effect::OpenStream,
        Effect::AllowBargeIn(true),
    ]);
}

/// Returns the stream time before which words belong to the pick-up.
pub fn pick_up_ends_ms(call: &State) -> u64 {
    match call.leg.rejoined {
        false => BARGE_IN_AFTER_MS,
        true => 0,
    }
}
