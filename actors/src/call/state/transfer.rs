//! Transfers the call. The agent announces it, the carrier is asked, and then the call is silent until the
//! destination answers or cannot be reached.

use serde_json::{Value, json};

use super::{By, Effect, EndReason, Phase, State, TransferAnswer, lost::Resume};
use crate::call::CallTimer;
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
pub(super) struct Pending {
    pub(super) wanted: UsableTransfer,
    pub(super) message: Option<String>,
}

/// A transfer in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandOver {
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
    pub(super) fn is_back(self) -> bool {
        self.back
    }
}

impl State {
    /// Handles the model's transfer request and returns the tool's result. Only destinations that the agent's
    /// owner configured are reachable.
    pub(super) fn transfer_wanted(&mut self, arguments: &Value) -> Value {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let named = text("transfer_number");
        let Some(wanted) = self.rules.transfers.iter().find(|usable| usable.is_to(named)) else {
            let known: Vec<&str> = self.rules.transfers.iter().map(|usable| usable.to.as_str()).collect();
            return json!({ "error": "give `transfer_number`, one of those that are configured", "configured": known });
        };
        let wanted = wanted.clone();
        let message: String = spoken(text("message")).chars().take(MESSAGE_CHARS).collect();
        self.reply.end_call = false;
        self.keep_agent();
        self.reply.protected |= self.rules.transfer_protected;
        self.reply.transfer = Some(Pending {
            wanted,
            message: Some(message).filter(|message| has_words(message)),
        });
        json!({ "ok": true, "note": "begins once your words were heard" })
    }

    /// Tells the account that the agent wants a person.
    pub(super) fn person_wanted(&mut self) {
        self.record(PERSON_WANTED, &json!({}));
    }

    /// Announces the transfer to the caller, in the model's words or else in ours.
    pub(super) fn announce_transfer(&mut self) {
        let said = self.speech.is_some() && !self.is_only_filled();
        let Some(pending) = &mut self.reply.transfer else {
            return;
        };
        let text = match pending.message.take() {
            Some(message) => message,
            None if said => return,
            None => self.rules.phrases.handing_on.to_owned(),
        };
        self.speak_piece(text.into());
    }

    /// Starts the transfer once the words before it were heard.
    pub(super) fn hand_on(&mut self, wanted: UsableTransfer) {
        self.drop_reply();
        self.keep_keys();
        self.leave_listening();
        let kind = kind_word(wanted.kind);
        let mut detail = json!({ "kind": kind });
        if self.rules.simulated {
            detail["simulated"] = true.into();
        }
        self.record("transfer", &detail);
        if self.rules.simulated {
            return self.transferred();
        }
        self.handed_on += 1;
        let try_no = self.handed_on;
        self.phase = Phase::Transferring(HandOver {
            try_no,
            kind: wanted.kind,
            taken: false,
            unanswered: false,
            back: false,
            socket: Socket::Kept,
            comforted: 0,
            overdue: false,
        });
        if wanted.kind == TransferKind::SipRefer && !self.rules.carrier.refer {
            self.transfer_failed("this carrier hands no call on by SIP REFER");
        } else if self.leg.id.is_none() {
            self.transfer_failed("the carrier has not named the call yet");
        } else {
            self.fx.push(Effect::Transfer {
                try_no,
                kind: wanted.kind,
                to: wanted.to,
            });
            self.fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
            if wanted.kind == TransferKind::Conference {
                self.fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
            }
        }
    }

    /// Handles the carrier's answer to the request.
    pub(super) fn transfer_asked(&mut self, asked: u32, answer: TransferAnswer) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.try_no != asked || hand_over.taken {
            return;
        }
        match answer {
            TransferAnswer::Taken => self.transfer_taken(),
            TransferAnswer::Refused(why) => self.transfer_failed(&why),
            TransferAnswer::Lost(why) => {
                hand_over.unanswered = true;
                let detail = json!({ "reason": why });
                self.record("transfer_unanswered", &detail);
                if self.leg.over || !self.leg.stream_open {
                    self.transfer_taken();
                } else {
                    self.fx.push(Effect::SetTimer(CallTimer::Transfer, UNANSWERED_MS));
                }
            }
        }
    }

    /// Notes that the carrier has taken the request, from its answer or from what happened to the caller.
    fn transfer_taken(&mut self) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        hand_over.taken = true;
        let hand_over = *hand_over;
        let detail = json!({ "kind": kind_word(hand_over.kind) });
        // Recovery leaves the leg alone because of this fact, should the call be lost.
        self.record(TRANSFER_TAKEN, &detail);
        if self.leg.over {
            // The end of the leg was reported before the answer came.
            self.leg_ended_in_transfer(hand_over);
        } else if !hand_over.back {
            self.fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
        }
    }

    /// Handles the close of the caller's media socket. In a conference the caller stays with the agent and
    /// gets another one. In other transfers the close shows that a request whose answer was lost has been
    /// taken.
    pub(super) fn media_closed_in_transfer(&mut self, clean: bool) {
        self.operator_leaves_transfer("transferred");
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.kind != TransferKind::Conference {
            if hand_over.unanswered && !hand_over.taken {
                self.transfer_taken();
            }
        } else if !clean && !self.leg.over {
            hand_over.socket = Socket::Died;
            self.fx.push(Effect::SetTimer(CallTimer::Reopen, REOPEN_AFTER_MS));
        }
    }

    /// Lets the transfer go on without the operator who wanted it, if there is one.
    pub(super) fn operator_leaves_transfer(&mut self, reason: &str) {
        if self.operator_gone(reason) {
            self.overdue_in_transfer();
        }
    }

    /// Asks the carrier for another media socket if nothing explains why it died.
    pub(super) fn reopen_in_transfer(&mut self) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.socket != Socket::Died || self.leg.stream_open || self.leg.over {
            return;
        }
        if let Some(try_no) = self.media_wishes.count() {
            hand_over.socket = Socket::AskedFor;
            self.fx.push(Effect::ReopenMedia { try_no });
        }
    }

    /// Handles a carrier that does not reopen the socket. If the transfer fails, it is asked once more.
    pub(super) fn not_reopened_in_transfer(&mut self) {
        if let Phase::Transferring(hand_over) = &mut self.phase
            && hand_over.socket == Socket::AskedFor
        {
            hand_over.socket = Socket::Died;
        }
    }

    /// Comforts the caller while the destination rings.
    pub(super) fn comfort(&mut self) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        let fillers = self.rules.phrases.fillers;
        if hand_over.kind != TransferKind::Conference || fillers.is_empty() || self.leg.over {
            return;
        }
        self.fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
        if self.leg.stream_open && self.speech.is_none() && !self.user.speaking && self.operator.is_none() {
            let filler = fillers[hand_over.comforted % fillers.len()];
            hand_over.comforted += 1;
            self.say_all(filler, false);
        }
    }

    /// Handles the carrier's report that the destination answered. It overrides anything assumed before.
    pub(super) fn transfer_reported(&mut self) {
        let tried = self.handed_on > 0;
        match self.phase {
            Phase::Transferring(_) => self.transferred(),
            Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Operator { .. }
            | Phase::Lost(_)
            | Phase::Closing { .. }
                if tried =>
            {
                self.transferred();
            }
            _ => {}
        }
    }

    /// Handles the carrier's report that the destination was not reached.
    pub(super) fn transfer_report_failed(&mut self, why: &str) {
        if let Phase::Transferring(_) = self.phase {
            self.transfer_failed(why);
        }
    }

    /// Handles the end of the caller's leg during a transfer. A carrier that rings the destination itself
    /// reports when somebody answers there. Without that report, which may be late, the caller gave up. After
    /// a SIP REFER the peer leaves us when it has called the destination, and no further report follows.
    pub(super) fn leg_ended_in_transfer(&mut self, hand_over: HandOver) {
        match hand_over.kind {
            // The carrier's answer to the request is still to come and decides.
            _ if !hand_over.taken && !hand_over.unanswered => {}
            TransferKind::SipRefer => self.transferred(),
            TransferKind::Blind | TransferKind::Conference => {
                self.fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
            }
        }
    }

    /// Handles a caller's media socket that is open again. The carrier sent the caller back, and its report
    /// may be late, unless we asked for the socket.
    pub(super) fn caller_is_back(&mut self) {
        if let Phase::Transferring(hand_over) = &mut self.phase {
            self.fx.push(Effect::CancelTimer(CallTimer::Reopen));
            if std::mem::replace(&mut hand_over.socket, Socket::Kept) == Socket::AskedFor {
                return;
            }
            hand_over.back = true;
            self.fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
        }
    }

    /// Handles a missing report. In a conference, it means that nobody answered.
    pub(super) fn transfer_unreported(&mut self) {
        match self.phase {
            Phase::Transferring(HandOver { taken: true, .. }) if self.leg.over => {
                self.transfer_failed("the caller hung up");
            }
            Phase::Transferring(HandOver { back: true, .. }) => {
                self.transfer_failed("the caller came back");
            }
            Phase::Transferring(HandOver { taken: false, .. }) => self.transfer_failed("no answer"),
            Phase::Transferring(HandOver {
                kind: TransferKind::Conference,
                ..
            }) => self.transfer_failed("nobody answered"),
            Phase::Transferring(_) => self.transferred(),
            _ => {}
        }
    }

    /// Notes that the call's time is up during the transfer, which is allowed to finish.
    pub(super) fn overdue_in_transfer(&mut self) {
        if let Phase::Transferring(hand_over) = &mut self.phase {
            hand_over.overdue = true;
        }
    }

    fn transferred(&mut self) {
        self.transferred = true;
        self.ended_by = Some((By::Transfer, None));
        // The caller talks with somebody else, so we must not hang up the leg.
        self.leg.over = true;
        self.fx.extend(STOPS);
        self.record("transferred", &json!({}));
        self.end(EndReason::Completed);
    }

    fn transfer_failed(&mut self, why: &str) {
        let Phase::Transferring(hand_over) = self.phase else {
            return;
        };
        self.fx.extend(STOPS);
        let detail = json!({ "reason": why });
        self.record(TRANSFER_FAILED, &detail);
        if self.leg.over {
            self.end(EndReason::Completed);
        } else if self.leg.stream_open {
            self.leg.outlived = !hand_over.back;
            if !self.operator_goes_on(hand_over.overdue) {
                self.go_on_after_transfer(hand_over.overdue);
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
            self.await_media(resume, asks);
        }
    }

    /// Handles a caller who comes back over another media socket than the one kept meanwhile, after the
    /// report that nobody was reached. The caller has not heard the words spoken since that report.
    pub(super) fn caller_came_back(&mut self) {
        let overdue = self.operator_gone("lost");
        self.drop_reply();
        self.keep_keys();
        self.leave_listening();
        self.fx.push(Effect::CancelTimer(CallTimer::Filler));
        self.speech = None;
        self.reply.transfer = None;
        self.join_stream();
        self.go_on_after_transfer(overdue);
    }

    /// Continues with the caller after the transfer.
    pub(super) fn go_on_after_transfer(&mut self, overdue: bool) {
        self.phase = Phase::Speaking;
        self.reply.end_call = false;
        self.reply.protected = false;
        if overdue {
            self.time_is_up();
        } else if let Some(why) = self.leg.deaf.take() {
            self.give_up(&why);
        } else {
            if self.speech.is_some() {
                self.fx.push(Effect::StopSpeaking);
            }
            self.say_all(self.rules.phrases.nobody_there, false);
        }
    }
}

pub(super) fn kind_word(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Blind => "blind",
        TransferKind::Conference => CONFERENCE,
        TransferKind::SipRefer => "sip_refer",
    }
}
