//! Transfers the call. The agent announces it, the carrier is asked, and then the call is silent until the
//! destination answers or cannot be reached.

use serde_json::{Value, json};

use crate::call::state::{
    Effect, Phase, Resume, State, TransferAnswer, another_agent, ending, filler, keys, lost, operator, reply, speech,
    talk,
};
use crate::call::{CallTimer, EndReason};
use domain::{
    agent::UsableTransfer,
    pieces::{has_words, spoken},
    ports::{
        carrier::TransferKind,
        store::{PERSON_WANTED, TRANSFER_FAILED, TRANSFER_TAKEN},
    },
};

/// Time in milliseconds after the request was taken at which a transfer without a failure report counts as
/// successful. The destination rings for 30 s at most.
const NO_BAD_NEWS_MS: u64 = 45_000;

/// Time in milliseconds the carrier has to explain why the caller's media socket is back or their leg is over.
const EXPLAINED_MS: u64 = 3_000;

/// Time in milliseconds the caller may still be with us after a request whose answer was lost, before it
/// counts as not taken.
const UNANSWERED_MS: u64 = 5_000;

/// Time in milliseconds before a new media socket is requested for a caller who should have kept theirs.
/// Carriers that connect the caller may close it a moment before they report that.
const REOPEN_AFTER_MS: u64 = 1_500;

/// Interval in milliseconds between announcements to a caller who waits for the destination.
const COMFORT_MS: u64 = 8_000;

/// The timers of a transfer.
const STOPS: [Effect; 3] = [
    Effect::CancelTimer(CallTimer::Transfer),
    Effect::CancelTimer(CallTimer::Reopen),
    Effect::CancelTimer(CallTimer::Filler),
];

/// Value in the detail of [`TRANSFER_TAKEN`] for a transfer in which the agent stays with the caller until
/// the destination has answered.
pub const CONFERENCE: &str = "conference";

/// Characters kept of the model's message to the destination.
const MESSAGE_CHARS: usize = 500;

/// A transfer that starts once the present speech was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub wanted: UsableTransfer,
    pub message: Option<String>,
}

/// A transfer in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandOver {
    /// Number of the try within the call. The carrier's answer refers to it.
    try_no: u32,
    kind: TransferKind,
    /// Whether the carrier has taken the request, as far as is known.
    taken: bool,
    /// Whether the carrier's answer to the request was lost.
    unanswered: bool,
    /// Whether the caller's media socket closed and is open again.
    back: bool,
    /// State of a media socket that the caller should have kept.
    socket: Socket,
    /// Number of announcements to the waiting caller.
    comforted: usize,
    /// Whether the call's time was up during the transfer.
    overdue: bool,
}

/// State of a media socket while the destination rings and the agent stays with the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Socket {
    /// Open, or closed properly.
    Kept,
    /// Died.
    Died,
    /// Died, and the carrier was asked for another.
    AskedFor,
}

impl HandOver {
    /// Returns whether the caller's media socket came back meanwhile.
    pub fn is_back(self) -> bool {
        self.back
    }
}

/// Handles the model's transfer request and returns the tool's result. Only destinations that the agent's
/// owner configured are reachable.
pub fn transfer_wanted(call: &mut State, arguments: &Value) -> Value {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let named = text("transfer_number");
    let Some(wanted) = call.rules.transfers.iter().find(|usable| usable.is_to(named)) else {
        let known: Vec<&str> = call.rules.transfers.iter().map(|usable| usable.to.as_str()).collect();
        return json!({ "error": "give `transfer_number`, one of those that are configured", "configured": known });
    };
    let wanted = wanted.clone();
    let message: String = spoken(text("message")).chars().take(MESSAGE_CHARS).collect();
    call.reply.end_call = false;
    another_agent::keep_agent(call);
    call.reply.protected |= call.rules.transfer_protected;
    call.reply.transfer = Some(Pending {
        wanted,
        message: Some(message).filter(|message| has_words(message)),
    });
    json!({ "ok": true, "note": "begins once your words were heard" })
}

/// Tells the account that the agent wants a person.
pub fn person_wanted(call: &mut State) {
    call.record(PERSON_WANTED, &json!({}));
}

/// Announces the transfer to the caller, in the model's words or else in ours.
pub fn announce_transfer(call: &mut State) {
    let said = call.speech.is_some() && !filler::is_only_filled(call);
    let Some(pending) = &mut call.reply.transfer else {
        return;
    };
    let text = match pending.message.take() {
        Some(message) => message,
        None if said => return,
        None => call.rules.phrases.handing_on.to_owned(),
    };
    reply::speak_piece(call, text.into());
}

/// Starts the transfer once the words before it were heard.
pub fn hand_on(call: &mut State, wanted: UsableTransfer) {
    ending::drop_reply(call);
    keys::keep_keys(call);
    talk::leave_listening(call);
    let kind = kind_word(wanted.kind);
    let mut detail = json!({ "kind": kind });
    if call.rules.simulated {
        detail["simulated"] = true.into();
    }
    call.record("transfer", &detail);
    if call.rules.simulated {
        return transferred(call);
    }
    call.handed_on += 1;
    let try_no = call.handed_on;
    call.phase = Phase::Transferring(HandOver {
        try_no,
        kind: wanted.kind,
        taken: false,
        unanswered: false,
        back: false,
        socket: Socket::Kept,
        comforted: 0,
        overdue: false,
    });
    if wanted.kind == TransferKind::SipRefer && !call.rules.carrier.refer {
        transfer_failed(call, "this carrier hands no call on by SIP REFER");
    } else if call.leg.id.is_none() {
        transfer_failed(call, "the carrier has not named the call yet");
    } else {
        call.fx.push(Effect::Transfer {
            try_no,
            kind: wanted.kind,
            to: wanted.to,
        });
        call.fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
        if wanted.kind == TransferKind::Conference {
            call.fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
        }
    }
}

/// Handles the carrier's answer to the request.
pub fn transfer_asked(call: &mut State, asked: u32, answer: TransferAnswer) {
    let Phase::Transferring(hand_over) = &mut call.phase else {
        return;
    };
    if hand_over.try_no != asked || hand_over.taken {
        return;
    }
    match answer {
        TransferAnswer::Taken => transfer_taken(call),
        TransferAnswer::Refused(why) => transfer_failed(call, &why),
        TransferAnswer::Lost(why) => {
            hand_over.unanswered = true;
            call.record("transfer_unanswered", &json!({ "reason": why }));
            if call.leg.over || !call.leg.stream_open {
                transfer_taken(call);
            } else {
                call.fx.push(Effect::SetTimer(CallTimer::Transfer, UNANSWERED_MS));
            }
        }
    }
}

/// Notes that the carrier has taken the request, from its answer or from what happened to the caller.
fn transfer_taken(call: &mut State) {
    let Phase::Transferring(hand_over) = &mut call.phase else {
        return;
    };
    hand_over.taken = true;
    let hand_over = *hand_over;
    let detail = json!({ "kind": kind_word(hand_over.kind) });
    // Recovery leaves the leg alone because of this fact, should the call be lost.
    call.record(TRANSFER_TAKEN, &detail);
    if call.leg.over {
        // The end of the leg was reported before the answer came.
        leg_ended_in_transfer(call, hand_over);
    } else if !hand_over.back {
        call.fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
    }
}

/// Handles the close of the caller's media socket. In a conference the caller stays with the agent and
/// gets another one. In other transfers the close shows that a request whose answer was lost has been
/// taken.
pub fn media_closed_in_transfer(call: &mut State, clean: bool) {
    operator_leaves_transfer(call, "transferred");
    let Phase::Transferring(hand_over) = &mut call.phase else {
        return;
    };
    if hand_over.kind != TransferKind::Conference {
        if hand_over.unanswered && !hand_over.taken {
            transfer_taken(call);
        }
    } else if !clean && !call.leg.over {
        hand_over.socket = Socket::Died;
        call.fx.push(Effect::SetTimer(CallTimer::Reopen, REOPEN_AFTER_MS));
    }
}

/// Lets the transfer go on without the operator who wanted it, if there is one.
pub fn operator_leaves_transfer(call: &mut State, reason: &str) {
    if operator::operator_gone(call, reason) {
        overdue_in_transfer(call);
    }
}

/// Asks the carrier for another media socket if nothing explains why it died.
pub fn reopen_in_transfer(call: &mut State) {
    let Phase::Transferring(hand_over) = &mut call.phase else {
        return;
    };
    if hand_over.socket != Socket::Died || call.leg.stream_open || call.leg.over {
        return;
    }
    if let Some(try_no) = call.media_wishes.count() {
        hand_over.socket = Socket::AskedFor;
        call.fx.push(Effect::ReopenMedia { try_no });
    }
}

/// Handles a carrier that does not reopen the socket. If the transfer fails, it is asked once more.
pub fn not_reopened_in_transfer(call: &mut State) {
    if let Phase::Transferring(hand_over) = &mut call.phase
        && hand_over.socket == Socket::AskedFor
    {
        hand_over.socket = Socket::Died;
    }
}

/// Comforts the caller while the destination rings.
pub fn comfort(call: &mut State) {
    let Phase::Transferring(hand_over) = &mut call.phase else {
        return;
    };
    let fillers = call.rules.phrases.fillers;
    if hand_over.kind != TransferKind::Conference || fillers.is_empty() || call.leg.over {
        return;
    }
    call.fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
    if call.leg.stream_open && call.speech.is_none() && !call.user.speaking && call.operator.is_none() {
        let filler = fillers[hand_over.comforted % fillers.len()];
        hand_over.comforted += 1;
        speech::say_all(call, filler, false);
    }
}

/// Handles the carrier's report that the destination answered. It overrides anything assumed before.
pub fn transfer_reported(call: &mut State) {
    let tried = call.handed_on > 0;
    match call.phase {
        Phase::Transferring(_) => transferred(call),
        Phase::Greeting
        | Phase::Listening
        | Phase::Thinking
        | Phase::Speaking
        | Phase::Operator { .. }
        | Phase::Lost(_)
        | Phase::Closing { .. }
            if tried =>
        {
            transferred(call);
        }
        _ => {}
    }
}

/// Handles the end of the caller's leg during a transfer. A carrier that rings the destination itself
/// reports when somebody answers there. Without that report, which may be late, the caller gave up. After
/// a SIP REFER the peer leaves us when it has called the destination, and no further report follows.
pub fn leg_ended_in_transfer(call: &mut State, hand_over: HandOver) {
    match hand_over.kind {
        // The carrier's answer to the request is still to come and decides.
        _ if !hand_over.taken && !hand_over.unanswered => {}
        TransferKind::SipRefer => transferred(call),
        TransferKind::Blind | TransferKind::Conference => {
            call.fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
        }
    }
}

/// Handles a caller's media socket that is open again. The carrier sent the caller back, and its report
/// may be late, unless we asked for the socket.
pub fn caller_is_back(call: &mut State) {
    if let Phase::Transferring(hand_over) = &mut call.phase {
        call.fx.push(Effect::CancelTimer(CallTimer::Reopen));
        if std::mem::replace(&mut hand_over.socket, Socket::Kept) == Socket::AskedFor {
            return;
        }
        hand_over.back = true;
        call.fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
    }
}

/// Handles a missing report. In a conference, it means that nobody answered.
pub fn transfer_unreported(call: &mut State) {
    match call.phase {
        Phase::Transferring(HandOver { taken: true, .. }) if call.leg.over => {
            transfer_failed(call, "the caller hung up");
        }
        Phase::Transferring(HandOver { back: true, .. }) => {
            transfer_failed(call, "the caller came back");
        }
        Phase::Transferring(HandOver { taken: false, .. }) => transfer_failed(call, "no answer"),
        Phase::Transferring(HandOver {
            kind: TransferKind::Conference,
            ..
        }) => transfer_failed(call, "nobody answered"),
        Phase::Transferring(_) => transferred(call),
        _ => {}
    }
}

/// Notes that the call's time is up during the transfer, which is allowed to finish.
pub fn overdue_in_transfer(call: &mut State) {
    if let Phase::Transferring(hand_over) = &mut call.phase {
        hand_over.overdue = true;
    }
}

fn transferred(call: &mut State) {
    call.end.note_transferred();
    // The caller talks with somebody else, so we must not hang up the leg.
    call.leg.over = true;
    call.fx.extend(STOPS);
    call.record("transferred", &json!({}));
    ending::end(call, EndReason::Completed);
}

/// Goes on without the transfer that is in progress, if there is one.
pub fn transfer_failed(call: &mut State, why: &str) {
    let Phase::Transferring(hand_over) = call.phase else {
        return;
    };
    call.fx.extend(STOPS);
    call.record(TRANSFER_FAILED, &json!({ "reason": why }));
    if call.leg.over {
        ending::end(call, EndReason::Completed);
    } else if call.leg.stream_open {
        call.leg.outlived = !hand_over.back;
        if !operator::operator_goes_on(call, hand_over.overdue) {
            go_on_after_transfer(call, hand_over.overdue);
        }
    } else {
        let resume = Resume::Transfer {
            overdue: hand_over.overdue,
        };
        let asks = match hand_over.socket {
            // A carrier that took the request brings the caller back by itself.
            Socket::Kept => !hand_over.taken,
            Socket::Died => true,
            Socket::AskedFor => false,
        };
        lost::await_media(call, resume, asks);
    }
}

/// Handles a caller who comes back over another media socket than the one kept meanwhile, after the
/// report that nobody was reached. The caller has not heard the words spoken since that report.
pub fn caller_came_back(call: &mut State) {
    let overdue = operator::operator_gone(call, "lost");
    ending::drop_reply(call);
    keys::keep_keys(call);
    talk::leave_listening(call);
    call.fx.push(Effect::CancelTimer(CallTimer::Filler));
    call.speech = None;
    call.reply.transfer = None;
    lost::join_stream(call);
    go_on_after_transfer(call, overdue);
}

/// Continues with the caller after the transfer.
pub fn go_on_after_transfer(call: &mut State, overdue: bool) {
    call.phase = Phase::Speaking;
    call.reply.end_call = false;
    call.reply.protected = false;
    if overdue {
        ending::time_is_up(call);
    } else if let Some(why) = call.leg.deaf.take() {
        ending::give_up(call, &why);
    } else {
        if call.speech.is_some() {
            call.fx.push(Effect::StopSpeaking);
        }
        let words = call.rules.phrases.nobody_there;
        speech::say_all(call, words, false);
    }
}

pub fn kind_word(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Blind => "blind",
        TransferKind::Conference => CONFERENCE,
        TransferKind::SipRefer => "sip_refer",
    }
}
