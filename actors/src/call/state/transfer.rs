//! The call is handed on: the agent says so, the carrier is asked, and from then on the call is silent until somebody
//! there has answered or nobody could be reached.

use serde_json::{Value, json};

use super::{Effect, EndReason, Phase, State, TransferAnswer, event_fact, lost::Resume};
use crate::call::CallTimer;
use domain::{
    pieces::{has_words, spoken},
    ports::{
        carrier::TransferKind,
        store::{TRANSFER_FAILED, TRANSFER_TAKEN},
    },
};

/// How long after the wish was taken no bad news is good news. The destination rings for 30 s at most.
const NO_BAD_NEWS_MS: u64 = 45_000;

/// How long the carrier has to explain why the caller's media socket is back, or their leg over.
const EXPLAINED_MS: u64 = 3_000;

/// How long a wish whose answer was lost may leave the caller with us before it counts as not taken.
const UNANSWERED_MS: u64 = 5_000;

/// How long after a media socket died that a caller was to keep another one is asked for: carriers that join the caller
/// may close it a moment before they report that.
const REOPEN_AFTER_MS: u64 = 1_500;

/// How often a caller who waits while the destination rings is told that the line stands.
const COMFORT_MS: u64 = 8_000;

/// The timers of a transfer.
const STOPS: [Effect; 3] = [
    Effect::CancelTimer(CallTimer::Transfer),
    Effect::CancelTimer(CallTimer::Reopen),
    Effect::CancelTimer(CallTimer::Filler),
];

/// How the detail of [`TRANSFER_TAKEN`] tells that the agent stays with the caller until the destination has answered.
pub const CONFERENCE: &str = "conference";

/// Characters of what a model has said before the call is handed on.
const MESSAGE_CHARS: usize = 500;

/// A transfer that comes once the present speech was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    /// Which of the rules' transfers.
    which: usize,
    message: Option<String>,
}

/// A transfer that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandOver {
    /// Which try of the call; the carrier's answer names it.
    try_no: u32,
    kind: TransferKind,
    /// The carrier has taken the wish, as far as is known.
    taken: bool,
    /// The carrier's answer to it was lost.
    unanswered: bool,
    /// The caller's media socket closed and is open again.
    back: bool,
    /// What became of a media socket that the caller was to keep.
    socket: Socket,
    /// How often the caller was told that the line stands.
    comforted: usize,
    /// The call's time was up meanwhile.
    overdue: bool,
}

/// A media socket while the destination rings and the agent stays with the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Socket {
    /// It is open, or it was closed in order.
    Kept,
    /// It died.
    Died,
    /// It died, and the carrier was asked for another.
    AskedFor,
}

impl HandOver {
    /// Whether the caller's media socket came back meanwhile.
    pub(super) fn is_back(self) -> bool {
        self.back
    }
}

impl State {
    /// The model wants to hand the call on; what the tool answers. Nothing is reached but what the agent's owner named.
    pub(super) fn transfer_wanted(&mut self, arguments: &Value) -> Value {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let named = text("transfer_number");
        let Some(which) = self.rules.transfers.iter().position(|usable| usable.is_to(named)) else {
            let known: Vec<&str> = self.rules.transfers.iter().map(|usable| usable.to.as_str()).collect();
            return json!({ "error": "give `transfer_number`, one of those that are configured", "configured": known });
        };
        let message: String = spoken(text("message")).chars().take(MESSAGE_CHARS).collect();
        self.reply.end_call = false;
        self.keep_agent();
        self.reply.protected |= self.rules.transfer_protected;
        self.reply.transfer = Some(Pending {
            which,
            message: Some(message).filter(|message| has_words(message)),
        });
        json!({ "ok": true, "note": "begins once your words were heard" })
    }

    /// The caller is told before the call is handed on: in the model's words, or else in ours.
    pub(super) fn announce_transfer(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        let said = self.speech.is_some() && !self.is_only_filled();
        let Some(pending) = &mut self.reply.transfer else {
            return;
        };
        let text = match pending.message.take() {
            Some(message) => message,
            None if said => return,
            None => self.rules.phrases.handing_on.to_owned(),
        };
        self.speak_piece(text.into(), now_ms, fx);
    }

    /// What was said before the transfer was heard.
    pub(super) fn hand_on(&mut self, pending: &Pending, now_ms: u64, fx: &mut Vec<Effect>) {
        let Some(wanted) = self.rules.transfers.get(pending.which).cloned() else {
            self.listen(now_ms, fx);
            return;
        };
        self.drop_reply(fx);
        self.keep_keys(fx);
        self.leave_listening(now_ms, fx);
        let kind = kind_word(wanted.kind);
        fx.push(event_fact(
            "transfer",
            self.elapsed_ms(now_ms),
            &json!({ "kind": kind }).to_string(),
        ));
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
            self.transfer_failed("this carrier hands no call on by SIP REFER", now_ms, fx);
        } else if self.leg.id.is_none() {
            self.transfer_failed("the carrier has not named the call yet", now_ms, fx);
        } else {
            fx.push(Effect::Transfer {
                try_no,
                kind: wanted.kind,
                to: wanted.to,
            });
            fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
            if wanted.kind == TransferKind::Conference {
                fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
            }
        }
    }

    /// The carrier's answer to the wish.
    pub(super) fn transfer_asked(&mut self, asked: u32, answer: TransferAnswer, now_ms: u64, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.try_no != asked || hand_over.taken {
            return;
        }
        match answer {
            TransferAnswer::Taken => self.transfer_taken(now_ms, fx),
            TransferAnswer::Refused(why) => self.transfer_failed(&why, now_ms, fx),
            TransferAnswer::Lost(why) => {
                hand_over.unanswered = true;
                let detail = json!({ "reason": why }).to_string();
                fx.push(event_fact("transfer_unanswered", self.elapsed_ms(now_ms), &detail));
                if self.leg.over || !self.leg.stream_open {
                    self.transfer_taken(now_ms, fx);
                } else {
                    fx.push(Effect::SetTimer(CallTimer::Transfer, UNANSWERED_MS));
                }
            }
        }
    }

    /// The carrier has taken the wish, by its own word or by what happens to the caller.
    fn transfer_taken(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        hand_over.taken = true;
        let hand_over = *hand_over;
        let detail = json!({ "kind": kind_word(hand_over.kind) }).to_string();
        // Whoever settles this call, should it be lost, leaves the leg alone for that.
        fx.push(event_fact(TRANSFER_TAKEN, self.elapsed_ms(now_ms), &detail));
        if self.leg.over {
            // Its end was told before the answer came.
            self.leg_ended_in_transfer(hand_over, now_ms, fx);
        } else if !hand_over.back {
            fx.push(Effect::SetTimer(CallTimer::Transfer, NO_BAD_NEWS_MS));
        }
    }

    /// The caller's media socket is gone. A caller who is rung for stays with the agent, and gets another. Elsewhere it
    /// tells that a wish was taken whose answer was lost.
    pub(super) fn media_closed_in_transfer(&mut self, clean: bool, now_ms: u64, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.kind != TransferKind::Conference {
            if hand_over.unanswered && !hand_over.taken {
                self.transfer_taken(now_ms, fx);
            }
        } else if !clean && !self.leg.over {
            hand_over.socket = Socket::Died;
            fx.push(Effect::SetTimer(CallTimer::Reopen, REOPEN_AFTER_MS));
        }
    }

    /// Nothing explains why the media socket died: the carrier is asked for another.
    pub(super) fn reopen_in_transfer(&mut self, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        if hand_over.socket != Socket::Died || self.leg.stream_open || self.leg.over {
            return;
        }
        if let Some(try_no) = self.media_wishes.count() {
            hand_over.socket = Socket::AskedFor;
            fx.push(Effect::ReopenMedia { try_no });
        }
    }

    /// The carrier does not open it again. Should the transfer fail it is asked once more.
    pub(super) fn not_reopened_in_transfer(&mut self) {
        if let Phase::Transferring(hand_over) = &mut self.phase
            && hand_over.socket == Socket::AskedFor
        {
            hand_over.socket = Socket::Died;
        }
    }

    /// The caller waits while the destination rings.
    pub(super) fn comfort(&mut self, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = &mut self.phase else {
            return;
        };
        let fillers = self.rules.phrases.fillers;
        if hand_over.kind != TransferKind::Conference || fillers.is_empty() || self.leg.over {
            return;
        }
        fx.push(Effect::SetTimer(CallTimer::Filler, COMFORT_MS));
        if self.leg.stream_open && self.speech.is_none() && !self.user.speaking {
            let filler = fillers[hand_over.comforted % fillers.len()];
            hand_over.comforted += 1;
            self.say_all(filler, false, fx);
        }
    }

    /// The carrier says that somebody answered there. It knows, whatever was believed before.
    pub(super) fn transfer_reported(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        let tried = self.handed_on > 0;
        match self.phase {
            Phase::Transferring(_) => self.transferred(now_ms, fx),
            Phase::Greeting
            | Phase::Listening
            | Phase::Thinking
            | Phase::Speaking
            | Phase::Lost(_)
            | Phase::Closing { .. }
                if tried =>
            {
                self.transferred(now_ms, fx);
            }
            _ => {}
        }
    }

    /// The carrier says that nobody answered there.
    pub(super) fn transfer_report_failed(&mut self, why: &str, now_ms: u64, fx: &mut Vec<Effect>) {
        if let Phase::Transferring(_) = self.phase {
            self.transfer_failed(why, now_ms, fx);
        }
    }

    /// The caller's leg is over while the call is handed on. A carrier that rings the destination itself tells when
    /// somebody answers there: without that word, which may be late, the caller gave up. A peer that was referred leaves
    /// us when it has called there; nobody tells us more.
    pub(super) fn leg_ended_in_transfer(&mut self, hand_over: HandOver, now_ms: u64, fx: &mut Vec<Effect>) {
        match hand_over.kind {
            // The carrier's answer to the wish is on its way, and will be the next news.
            _ if !hand_over.taken && !hand_over.unanswered => {}
            TransferKind::SipRefer => self.transferred(now_ms, fx),
            TransferKind::Blind | TransferKind::Conference => {
                fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
            }
        }
    }

    /// The caller's media socket is open again: the carrier sent the caller back, and its report may be late, unless it
    /// was asked for.
    pub(super) fn caller_is_back(&mut self, fx: &mut Vec<Effect>) {
        if let Phase::Transferring(hand_over) = &mut self.phase {
            fx.push(Effect::CancelTimer(CallTimer::Reopen));
            if std::mem::replace(&mut hand_over.socket, Socket::Kept) == Socket::AskedFor {
                return;
            }
            hand_over.back = true;
            fx.push(Effect::SetTimer(CallTimer::Transfer, EXPLAINED_MS));
        }
    }

    /// No report has come. Of a destination that is rung while the agent stays, silence tells that nobody answered.
    pub(super) fn transfer_unreported(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Transferring(HandOver { taken: true, .. }) if self.leg.over => {
                self.transfer_failed("the caller hung up", now_ms, fx);
            }
            Phase::Transferring(HandOver { back: true, .. }) => {
                self.transfer_failed("the caller came back", now_ms, fx);
            }
            Phase::Transferring(HandOver { taken: false, .. }) => self.transfer_failed("no answer", now_ms, fx),
            Phase::Transferring(HandOver {
                kind: TransferKind::Conference,
                ..
            }) => self.transfer_failed("nobody answered", now_ms, fx),
            Phase::Transferring(_) => self.transferred(now_ms, fx),
            _ => {}
        }
    }

    /// The call's time is up while it is handed on: that is waited for.
    pub(super) fn overdue_in_transfer(&mut self) {
        if let Phase::Transferring(hand_over) = &mut self.phase {
            hand_over.overdue = true;
        }
    }

    fn transferred(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.transferred = true;
        // The caller talks with somebody else: the leg is not ours to hang up.
        self.leg.over = true;
        fx.extend(STOPS);
        fx.push(event_fact("transferred", self.elapsed_ms(now_ms), "{}"));
        self.end(EndReason::Completed, fx);
    }

    fn transfer_failed(&mut self, why: &str, now_ms: u64, fx: &mut Vec<Effect>) {
        let Phase::Transferring(hand_over) = self.phase else {
            return;
        };
        fx.extend(STOPS);
        let detail = json!({ "reason": why }).to_string();
        fx.push(event_fact(TRANSFER_FAILED, self.elapsed_ms(now_ms), &detail));
        if self.leg.over {
            self.end(EndReason::Completed, fx);
        } else if self.leg.stream_open {
            self.leg.outlived = !hand_over.back;
            self.go_on_after_transfer(hand_over.overdue, fx);
        } else {
            let resume = Resume::Transfer {
                overdue: hand_over.overdue,
            };
            let asks = match hand_over.socket {
                // A carrier that took the wish brings the caller back by itself.
                Socket::Kept => !hand_over.taken,
                Socket::Died => true,
                Socket::AskedFor => false,
            };
            self.await_media(resume, asks, now_ms, fx);
        }
    }

    /// The caller comes back by another media socket than the one that was kept meanwhile, behind the report that nobody
    /// could be reached. What was said since then went to nobody.
    pub(super) fn caller_came_back(&mut self, now_ms: u64, fx: &mut Vec<Effect>) {
        self.drop_reply(fx);
        self.keep_keys(fx);
        self.leave_listening(now_ms, fx);
        fx.push(Effect::CancelTimer(CallTimer::Filler));
        self.speech = None;
        self.reply.transfer = None;
        self.join_stream(now_ms, fx);
        self.go_on_after_transfer(false, fx);
    }

    /// The agent is with the caller again.
    pub(super) fn go_on_after_transfer(&mut self, overdue: bool, fx: &mut Vec<Effect>) {
        self.phase = Phase::Speaking;
        self.reply.end_call = false;
        self.reply.protected = false;
        if overdue {
            self.time_is_up(fx);
        } else if let Some(why) = self.leg.deaf.take() {
            self.give_up(&why, fx);
        } else {
            if self.speech.is_some() {
                fx.push(Effect::StopSpeaking);
            }
            self.say_all(self.rules.phrases.nobody_there, false, fx);
        }
    }
}

fn kind_word(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Blind => "blind",
        TransferKind::Conference => CONFERENCE,
        TransferKind::SipRefer => "sip_refer",
    }
}
