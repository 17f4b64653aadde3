//! All ways a call ends, and the steps from there to the outcome.

use serde_json::json;

use crate::call::state::{
    Effect, Phase, State, Waste, another_agent, disclosing, keys, lost, operator, speculation, speech, talk, transfer,
    walking,
};
use crate::call::{CallTimer, EndReason, outcome::Ending};
use domain::ports::store::ENDED;

/// Time in milliseconds in which the audio stream must report the last words heard.
const LAST_WORDS_MS: u64 = 1_000;

/// Longest duration of a goodbye, in milliseconds.
pub const GOODBYE_MS: u64 = 8_000;

/// Side that ended the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The agent.
    Agent,
    /// The other person.
    User,
    /// A request: of the account, or of a service that stops.
    Request,
    /// A transfer: the other person talks with somebody else.
    Transfer,
    /// A fault of the line, the carrier or a provider.
    Fault,
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Request => "request",
            Self::Transfer => "transfer",
            Self::Fault => "fault",
        }
    }
}

/// What is known of the call's end before it comes.
#[derive(Debug, Clone, Default)]
pub struct CallEnd {
    /// Whether the carrier transferred the call.
    transferred: bool,
    /// This call is no longer wanted. If nothing was sent, it is cancelled rather than queued again.
    unwanted: bool,
    /// Side that ends the call, once that is certain, and its reason.
    ended_by: Option<(By, Option<&'static str>)>,
}

impl CallEnd {
    /// Notes the side that ends the call; the first counts.
    pub fn note_end_by(&mut self, by: By, why: Option<&'static str>) {
        self.ended_by.get_or_insert((by, why));
    }

    /// Notes that the other person talks with somebody else now, whatever was to end the call before.
    pub fn note_transferred(&mut self) {
        self.transferred = true;
        self.ended_by = Some((By::Transfer, None));
    }

    pub fn note_unwanted(&mut self) {
        self.unwanted = true;
    }
}

/// Ends the call for `reason`: the leg is hung up if it lives, then the outcome is written.
pub fn end(call: &mut State, reason: EndReason) {
    if matches!(call.phase, Phase::HangingUp { .. } | Phase::Ended) {
        return;
    }
    let left = if call.end.transferred {
        "transferred"
    } else {
        "call_ended"
    };
    operator::operator_gone(call, left);
    drop_reply(call);
    keys::keep_keys(call);
    if call.leg.dialed && !call.leg.over {
        call.leg.over = true;
        call.fx.push(Effect::HangUpLeg(call.leg.id.clone()));
    }
    if call.leg.stream_open {
        call.fx.extend([Effect::StopSpeaking, Effect::CloseStream]);
        call.set_timer(CallTimer::EndReport, LAST_WORDS_MS);
        call.phase = Phase::HangingUp { reason };
    } else {
        finish(call, reason);
    }
}

fn finish(call: &mut State, reason: EndReason) {
    let mut outcome = reason.outcome(call.answerer.is_voicemail(), call.history.collected().clone());
    outcome.transferred = call.end.transferred;
    finish_with(call, Ending::Outcome(outcome));
}

pub fn finish_with(call: &mut State, ending: Ending) {
    let ending = match ending {
        Ending::NotSent { .. } if call.end.unwanted => {
            Ending::Outcome(EndReason::Cancelled.outcome(false, Default::default()))
        }
        other => other,
    };
    if call.phase != Phase::Ended {
        call.phase = Phase::Ended;
        talk::keep_words_over_speech(call);
        record_end(call, &ending);
        call.fx.push(Effect::Finish(ending));
    }
}

/// Drops the rest of the reply, the reply made ahead, and a hand-over to another agent.
pub fn drop_reply(call: &mut State) {
    speculation::drop_early(call, Waste::Overtaken);
    walking::stop_walking(call);
    another_agent::keep_agent(call);
    call.fx.push(Effect::CancelReply);
    call.reply.open = false;
}

/// Drops the rest of the reply with all that should follow it: a filler, the end of the call, a transfer.
pub fn stop_reply(call: &mut State) {
    drop_reply(call);
    call.stop_timer(CallTimer::Filler);
    call.reply.cutter.finish();
    call.reply.end_call = false;
    call.reply.transfer = None;
}

/// Says a last sentence, then ends for `reason`, after `within_ms` at the latest.
pub fn say_goodbye(call: &mut State, text: &str, reason: EndReason, within_ms: u64) {
    drop_reply(call);
    disclosing::stop_speech(call);
    talk::leave_listening_timers(call);
    call.phase = Phase::Closing { reason };
    let within_ms = within_ms + disclosing::disclosure_ms(call);
    speech::say_all(call, text, true);
    call.set_timer(CallTimer::Closing, within_ms);
}

/// Notes that the present stream no longer recognises speech. Outside the conversation this matters only
/// once it begins.
pub fn deaf(call: &mut State, why: String) {
    if talk::in_conversation(call) {
        give_up(call, &why);
    } else {
        call.leg.deaf = Some(why);
    }
}

/// Apologises and ends the call, because a part of the agent is broken for good.
pub fn give_up(call: &mut State, why: &str) {
    if talk::in_conversation(call) {
        call.end.note_end_by(By::Fault, None);
        let words = call.rules.phrases.broken;
        say_goodbye(call, words, EndReason::agent(why), GOODBYE_MS);
    }
}

/// Handles the request to end the call.
pub fn hang_up(call: &mut State) {
    call.end.note_end_by(By::Request, None);
    match &mut call.phase {
        Phase::Scheduled { hang_up } | Phase::Dialing { hang_up } => *hang_up = true,
        Phase::Unknown | Phase::Ringing => end(call, EndReason::Cancelled),
        Phase::PickedUp
        | Phase::Greeting
        | Phase::Listening
        | Phase::Thinking
        | Phase::Speaking
        | Phase::Machine(_)
        | Phase::Transferring(_)
        | Phase::Operator { .. }
        | Phase::Closing { .. }
        | Phase::Lost(_) => end(call, EndReason::Completed),
        Phase::HangingUp { .. } | Phase::Ended => {}
    }
}

/// Handles the approaching end of `maxDurationSeconds`.
pub fn time_is_up(call: &mut State) {
    let lead_ms = call.rules.closing_lead_ms();
    match call.phase {
        Phase::Greeting | Phase::Listening | Phase::Thinking | Phase::Speaking => {
            call.end.note_end_by(By::Agent, Some("max_duration"));
            let words = call.rules.phrases.time_is_up;
            say_goodbye(call, words, EndReason::Completed, lead_ms);
        }
        // Nobody would hear a closing sentence, so only the hard limit applies.
        Phase::PickedUp | Phase::Machine(_) | Phase::Lost(_) => {
            call.set_timer(CallTimer::Closing, lead_ms);
        }
        // A goodbye that is playing gets the remaining time at most.
        Phase::Closing { .. } => call.set_timer(CallTimer::Closing, lead_ms),
        Phase::Transferring(_) => transfer::overdue_in_transfer(call),
        Phase::Operator { .. } => operator::overdue_for_operator(call),
        Phase::Scheduled { .. }
        | Phase::Dialing { .. }
        | Phase::Unknown
        | Phase::Ringing
        | Phase::HangingUp { .. }
        | Phase::Ended => {}
    }
}

pub fn closing_time_over(call: &mut State) {
    match call.phase.clone() {
        Phase::Closing { reason } => end(call, reason),
        // Time was up while nobody would have heard a closing sentence.
        Phase::PickedUp
        | Phase::Greeting
        | Phase::Listening
        | Phase::Thinking
        | Phase::Speaking
        | Phase::Machine(_)
        | Phase::Lost(_) => {
            call.end.note_end_by(By::Agent, Some("max_duration"));
            end(call, EndReason::Completed);
        }
        Phase::Transferring(_) => transfer::overdue_in_transfer(call),
        Phase::Operator { .. } => operator::overdue_for_operator(call),
        Phase::Scheduled { .. }
        | Phase::Dialing { .. }
        | Phase::Unknown
        | Phase::Ringing
        | Phase::HangingUp { .. }
        | Phase::Ended => {}
    }
}

/// Handles the close of the media socket.
pub fn media_closed(call: &mut State, clean: bool) {
    call.leg.dying = false;
    if clean
        && !matches!(
            call.phase,
            Phase::HangingUp { .. } | Phase::Transferring(_) | Phase::Lost(_)
        )
    {
        call.end.note_end_by(By::User, None);
    }
    match call.phase.clone() {
        Phase::HangingUp { reason } => {
            call.leg.stream_open = false;
            finish(call, reason);
        }
        Phase::Closing { reason } if clean => {
            call.leg.over = true;
            call.leg.stream_open = false;
            end(call, reason);
        }
        Phase::PickedUp
        | Phase::Greeting
        | Phase::Listening
        | Phase::Thinking
        | Phase::Speaking
        | Phase::Machine(_)
        | Phase::Operator { .. }
        | Phase::Closing { .. } => {
            call.leg.stream_open = false;
            if clean {
                call.leg.over = true;
                end(call, EndReason::Completed);
            } else {
                lost::lose_media(call);
            }
        }
        Phase::Scheduled { .. }
        | Phase::Dialing { .. }
        | Phase::Unknown
        | Phase::Ringing
        | Phase::Lost(_)
        | Phase::Ended => call.leg.stream_open = false,
        Phase::Transferring(_) => {
            call.leg.stream_open = false;
            transfer::media_closed_in_transfer(call, clean);
        }
    }
}

/// Handles the end of the audio stream's actor.
pub fn stream_gone(call: &mut State, crashed: bool) {
    let was_open = std::mem::take(&mut call.leg.stream_open);
    let matters = !matches!(
        call.phase,
        Phase::Transferring(_) | Phase::HangingUp { .. } | Phase::Ended
    );
    if crashed && was_open && matters {
        call.record("stream_crashed", &json!({}));
        end(call, EndReason::agent("audio stream crashed"));
    } else if was_open {
        media_closed(call, false);
    }
}

pub fn end_report_missing(call: &mut State) {
    match call.phase.clone() {
        Phase::Lost(_) => end(call, EndReason::media_lost()),
        Phase::HangingUp { reason } => {
            call.leg.stream_open = false;
            finish(call, reason);
        }
        _ => {}
    }
}

/// Records the end with its outcome. A call that nobody answered was hung up by a request or not at all.
pub fn record_end(call: &mut State, ending: &Ending) {
    let (Ending::Outcome(outcome) | Ending::Written(outcome)) = ending else {
        return;
    };
    let failed = outcome.error.is_some();
    let usual = if failed { By::Fault } else { By::Agent };
    let machine = outcome.voicemail.then_some("voicemail");
    let (by, why) = call.end.ended_by.unwrap_or((usual, machine));
    let known = call.leg.answered_ms.is_some() || by == By::Request;
    let mut detail = json!({ "status": outcome.status.as_str() });
    for (name, value) in [
        ("by", known.then(|| by.as_str())),
        ("why", why.filter(|_| known)),
        ("error", outcome.error.as_deref()),
    ] {
        if let Some(value) = value {
            detail[name] = value.into();
        }
    }
    call.record(ENDED, &detail);
}
