//! The state machine of a call, free of I/O and clocks: events go in, effects come out.
//!
//! `Scheduled → Dialing → Ringing → PickedUp → (Greeting) → Listening ⇄ Thinking ⇄ Speaking → (Machine) →
//! Closing → HangingUp → Ended`. Facts are monotone: a late or repeated one changes nothing, so no event is
//! an error.

mod another_agent;
mod disclosing;
mod ended_by;
mod ending;
mod event;
mod filler;
mod keys;
mod latency;
mod leg;
mod live;
mod lost;
mod menu;
mod node_steps;
mod operator;
mod opt_out;
mod outside_tools;
mod reply;
mod router;
mod rules;
mod screening;
mod speculation;
mod speech;
mod taken_over;
mod talk;
#[cfg(test)]
mod tests;
mod tool_record;
mod transfer;
mod voicemail_flow;
mod who_answered;
mod workflow;

pub use event::{AgentUnavailable, Effect, Event, PermitAnswer, ToolAnswer, TransferAnswer};
pub use operator::{OperateRefusal, OperatorLeft};
pub use router::Judgement;
pub use rules::Rules;
pub use transfer::CONFERENCE;
pub use workflow::GraphRules;

use another_agent::{HandoverWish, TakingOver};
use ended_by::By;
use keys::Keys;
use latency::Latency;
use live::Commands;
use lost::{MediaWishes, Resume};
use menu::Menu;
use operator::Operator;
use opt_out::OptOut;
use outside_tools::OutsideTools;
use speculation::{EarlyReply, Pause, Waste};
use speech::Speech;
use transfer::{HandOver, Pending};
use who_answered::Machine;
use workflow::Walking;

use media::turn::endpointing::Utterance;
use serde_json::Value;

use super::{
    CallPhase, CallTimer,
    history::{History, Span},
    outcome::EndReason,
};
use crate::audio_stream::SpeechId;
use domain::{
    pieces::PieceCutter,
    ports::{
        carrier::{CarrierCallId, MachineVerdict},
        language_model::HistoryItem,
        store::{EventFact, Fact},
    },
};

/// Time in milliseconds after the answer within which the first media socket comes. Later than that, the
/// carrier may have asked another node how the call goes on.
const FIRST_SOCKET_MS: u64 = 2_000;

/// Phase of the call, with the data that matters only there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The call waits for the permit.
    Scheduled { hang_up: bool },
    /// The dial request was sent.
    Dialing { hang_up: bool },
    /// The answer to the dial request was lost, so it is unknown whether the phone rings.
    Unknown,
    /// The leg exists.
    Ringing,
    /// The call was answered; the pick-up rule starts once media is open.
    PickedUp,
    /// The greeting plays.
    Greeting,
    /// The user has the turn.
    Listening,
    /// A reply is being made; nothing of it was sent to speech synthesis yet.
    Thinking,
    /// The agent speaks.
    Speaking,
    /// A machine answered.
    Machine(Machine),
    /// The call is being transferred; the agent is silent.
    Transferring(HandOver),
    /// An operator has the call; the agent is silent. With `leaving`, the last words of the operator are awaited.
    Operator { leaving: bool },
    /// The last words play.
    Closing { reason: EndReason },
    /// Media died. It may come back, or the carrier may report that the call just ended.
    Lost(Resume),
    /// The call is over; the audio stream still reports the last words heard.
    HangingUp { reason: EndReason },
    /// The ending was returned.
    Ended,
}

/// State of the leg.
#[derive(Debug, Clone, Default)]
struct Leg {
    /// Whether the call is inbound.
    inbound: bool,
    dialed: bool,
    dialed_ms: u64,
    id: Option<CarrierCallId>,
    rang: bool,
    answered_ms: Option<u64>,
    media_ms: Option<u64>,
    stream_open: bool,
    /// Whether the socket died and the stream is still reporting what was said and heard until then.
    dying: bool,
    /// Whether the media socket is not the call's first.
    rejoined: bool,
    /// Whether the open media socket is older than a transfer that failed.
    outlived: bool,
    /// Reason why the present stream no longer recognises speech.
    deaf: Option<String>,
    /// Whether the user's voice interrupts by now.
    barge_in: bool,
    over: bool,
}

/// The user's side of the conversation.
#[derive(Debug, Clone, Default)]
struct User {
    /// Voice was heard that has not become an utterance.
    speaking: bool,
    /// Words heard while the agent went on speaking are still to be answered.
    unanswered: bool,
    /// Words spoken over the agent's speech. They follow it in the history once it is known how much of it was heard.
    over_speech: Vec<Utterance>,
    /// The last utterance had no words and was answered as damaged.
    was_wordless: bool,
    /// A beep came, and no voice after it.
    beep_heard: bool,
    /// Pause in the user's turn that may lead to a reply made ahead.
    pause: Option<Pause>,
    /// Replies made ahead in this turn.
    tries: u32,
    /// A silence timer came due during a sound and was put off once. Words allow that again.
    held_timers: bool,
    /// Whether the user wishes never to be called again.
    opt_out: OptOut,
    /// Milliseconds of silence left, and the time since when they run.
    silence_left_ms: u64,
    silence_since_ms: Option<u64>,
}

/// State of the reply that is being made.
#[derive(Debug, Clone, Default)]
struct ReplyState {
    open: bool,
    cutter: PieceCutter,
    /// A whole sentence of it was sent to speech synthesis.
    whole: bool,
    /// Estimated time until which the text sent to speech synthesis plays.
    said_until_ms: u64,
    tools: usize,
    /// Number of successive replies that only called tools.
    rounds: usize,
    /// `skipTurn` was called: the user gets the turn again without a word.
    skips: bool,
    /// `endCall` was called: hang up after the speech.
    end_call: bool,
    /// `transferToNumber` was called: transfer the call after the speech.
    transfer: Option<Pending>,
    /// `transferToAgent` was called: another agent takes over after the speech.
    another: Option<HandoverWish>,
    protected: bool,
    /// It broke off after a whole sentence: the agent soon continues by itself.
    broke_off: bool,
    /// Fillers since the user's turn, and the time of the last one.
    fillers: usize,
    filled_ms: Option<u64>,
    /// Nothing but fillers was said of this reply.
    only_filled: bool,
    /// Successive failures of the model.
    model_failures: usize,
    /// Successive failures of speech synthesis.
    voice_failures: usize,
}

/// State of a call.
#[derive(Debug, Clone)]
pub struct State {
    rules: Rules,
    phase: Phase,
    leg: Leg,
    user: User,
    reply: ReplyState,
    /// A reply made ahead while the user has the turn.
    early: Option<EarlyReply>,
    /// Latency so far of the answer to the user's last words.
    latency: Latency,
    history: History,
    speech: Option<Speech>,
    /// A speech that was replaced and has not been reported on yet.
    replaced: Option<Speech>,
    next_speech: u64,
    /// Keys the user has pressed that have not become words yet.
    keys: Keys,
    menu: Menu,
    tools: OutsideTools,
    /// Bytes of arguments and answers recorded so far.
    tool_bytes: u64,
    /// Number of hand-overs to another agent so far, and the one in progress.
    handovers: u32,
    taking_over: Option<TakingOver>,
    /// The carrier's verdict on who answered, and whether it must still be handled when the media is back.
    carrier_said: Option<MachineVerdict>,
    carrier_due: bool,
    /// How often the carrier was asked to transfer the call, and whether it succeeded.
    handed_on: u32,
    transferred: bool,
    /// Requests for lost media, and the time since when it is gone.
    media_wishes: MediaWishes,
    lost_ms: u64,
    voicemail: bool,
    /// Whether voice stopped the message to the mailbox.
    message_cut: bool,
    /// Number of facts recorded about pauses of playout and echoes.
    notes: usize,
    disclosing: disclosing::Disclosing,
    /// Clients' commands that wait or hold on.
    commands: Commands,
    /// The operator who has the call.
    operator: Option<Operator>,
    /// Walk through the graph of the agent, if it has one.
    walking: Option<Box<Walking>>,
    /// This call is no longer wanted. If nothing was sent, it is cancelled rather than queued again.
    unwanted: bool,
    /// Side that ends the call, once that is certain, and its reason.
    ended_by: Option<(By, Option<&'static str>)>,
    /// Time of the present event.
    now_ms: u64,
    /// Effects of the present event so far.
    fx: Vec<Effect>,
}

impl State {
    /// Creates a call, with its first effect.
    pub fn new(rules: Rules) -> (Self, Vec<Effect>) {
        let walking = Walking::of(&rules);
        let state = Self {
            user: User {
                silence_left_ms: rules.silence_end_ms.unwrap_or(0),
                ..User::default()
            },
            rules,
            phase: Phase::Scheduled { hang_up: false },
            leg: Leg::default(),
            reply: ReplyState::default(),
            early: None,
            latency: Latency::default(),
            history: History::default(),
            speech: None,
            replaced: None,
            next_speech: 0,
            keys: Keys::default(),
            menu: Menu::default(),
            tools: OutsideTools::default(),
            tool_bytes: 0,
            handovers: 0,
            taking_over: None,
            carrier_said: None,
            carrier_due: false,
            handed_on: 0,
            transferred: false,
            media_wishes: MediaWishes::default(),
            lost_ms: 0,
            voicemail: false,
            message_cut: false,
            notes: 0,
            disclosing: disclosing::Disclosing::default(),
            commands: Commands::default(),
            operator: None,
            walking,
            unwanted: false,
            ended_by: None,
            now_ms: 0,
            fx: Vec::new(),
        };
        (state, vec![Effect::AskPermit])
    }

    /// Applies an event at `now_ms` (milliseconds from any fixed origin, never decreasing). Every event is
    /// accepted at any time.
    #[must_use]
    pub fn apply(mut self, event: Event, now_ms: u64) -> (Self, Vec<Effect>) {
        self.now_ms = now_ms;
        match event {
            Event::Permitted(answer) => self.permitted(answer),
            Event::Dialed(result) => self.dialed(result),
            Event::NotOurLeg { anothers } => self.not_our_leg(anothers),
            Event::NotPlaced => self.outcome_stays_unknown(),
            Event::Progress(progress) => self.progress(&progress),
            Event::MediaOpened => self.media_opened(),
            Event::CameBack => self.came_back(),
            Event::TransferAsked { try_no, answer } => self.transfer_asked(try_no, answer),
            Event::NotReopened { try_no } => self.not_reopened(try_no),
            Event::Stream(event) => self.stream_event(event),
            Event::StreamGone { crashed } => self.stream_gone(crashed),
            Event::Reply(Some(Ok(event))) if self.early.is_none() => self.reply_event(event),
            Event::Reply(Some(Ok(event))) => self.early_event(event),
            Event::Reply(Some(Err(error))) if self.early.is_none() => self.reply_failed(&error),
            Event::Reply(Some(Err(_))) => self.drop_early(Waste::Failed),
            Event::Reply(None) if self.early.is_none() => self.reply_ended(),
            Event::Reply(None) => self.early_ended(),
            Event::ToolsOffered(names) => self.tools.offer(names),
            Event::ToolAnswered(answer) => self.tool_answered(answer),
            Event::RouterAnswered { number, judgement } => self.router_answered(number, judgement),
            Event::ArgumentsChosen { number, chosen } => self.arguments_chosen(number, chosen),
            Event::AgentFound { try_no, found } => self.agent_found(try_no, found),
            Event::Timer(timer) => self.timer(timer),
            Event::Commanded(command) => self.commanded(*command),
            Event::OperatorJoined { by } => self.operator_joined(by),
            Event::OperatorLeft(left) => self.operator_left(left),
            Event::HangUp => self.hang_up(),
            Event::End => {
                self.unwanted = true;
                self.hang_up();
            }
        }
        let effects = std::mem::take(&mut self.fx);
        (self, effects)
    }

    /// Replaces the rules with those of the same agent whose texts have other placeholder values. The maximum
    /// duration stays that of the agent with which the call began.
    pub fn read_texts_again(&mut self, rules: Rules) {
        let max_duration_ms = self.rules.max_duration_ms;
        self.rules = Rules {
            max_duration_ms,
            ..rules
        };
    }

    /// Returns whether texts of the agent name the duration of the call.
    pub fn says_duration(&self) -> bool {
        self.rules.says_duration
    }

    /// Returns the carrier's id of the leg, once it is known.
    pub fn leg(&self) -> Option<&CarrierCallId> {
        self.leg.id.as_ref()
    }

    /// Returns whether a media socket with the right proof would be taken now, because there is none.
    pub fn lacks_media(&self) -> bool {
        match self.phase {
            Phase::Dialing { hang_up: false } | Phase::Unknown | Phase::Ringing | Phase::PickedUp => {
                self.leg.media_ms.is_none()
            }
            Phase::Transferring(hand_over) => !hand_over.is_back() && !self.leg.stream_open && !self.leg.over,
            Phase::Lost(resume) => resume != Resume::No && !self.leg.stream_open && !self.leg.over,
            _ => false,
        }
    }

    /// Returns whether a media socket with the right proof would replace the open one. A carrier that
    /// transfers a caller may keep the old socket and bring the caller back with another.
    pub fn replaces_media(&self) -> bool {
        let may_come_back = match self.phase {
            Phase::Transferring(hand_over) => !hand_over.is_back(),
            Phase::Listening | Phase::Thinking | Phase::Speaking | Phase::Operator { .. } => self.leg.outlived,
            _ => false,
        };
        may_come_back && self.leg.stream_open && !self.leg.over
    }

    /// Returns whether the carrier may have asked another node how the call goes on: the call was answered,
    /// and the media socket is gone or overdue.
    pub fn may_have_gone(&self, now_ms: u64) -> bool {
        let late = |answered_ms: u64| now_ms.saturating_sub(answered_ms) >= FIRST_SOCKET_MS;
        !self.leg.stream_open && (self.leg.media_ms.is_some() || self.leg.answered_ms.is_some_and(late))
    }

    /// Returns the history, for the model.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the history with which the model is asked, including the words of a turn that may not be over.
    pub fn asked(&self) -> Vec<HistoryItem> {
        match &self.early {
            Some(early) => self.history.with_words(early.text()),
            None => self.history.items().to_vec(),
        }
    }

    /// Returns the number of successive replies at which the model failed.
    pub fn failures(&self) -> usize {
        self.reply.model_failures
    }

    /// Returns the phase, for readers.
    pub fn phase(&self) -> CallPhase {
        match self.phase {
            Phase::Scheduled { .. } => CallPhase::Scheduled,
            Phase::Dialing { .. } | Phase::Unknown => CallPhase::Dialing,
            Phase::Ringing => CallPhase::Ringing,
            Phase::PickedUp => CallPhase::Answered,
            Phase::Greeting => CallPhase::Greeting,
            Phase::Listening => CallPhase::Listening,
            Phase::Thinking => CallPhase::Thinking,
            Phase::Speaking => CallPhase::Speaking,
            Phase::Machine(_) => CallPhase::Voicemail,
            Phase::Transferring(_) => CallPhase::Transferring,
            Phase::Operator { .. } => CallPhase::Operator,
            Phase::Closing { .. } | Phase::Lost(_) | Phase::HangingUp { .. } => CallPhase::Closing,
            Phase::Ended => CallPhase::Ended,
        }
    }

    fn timer(&mut self, timer: CallTimer) {
        match timer {
            CallTimer::Ring => self.rang_long_enough(),
            CallTimer::Settle => self.outcome_stays_unknown(),
            CallTimer::MediaWait => self.media_never_came(),
            CallTimer::PickUp => self.pick_up_silence(),
            CallTimer::BargeIn => self.barge_in_allowed(),
            CallTimer::Turn => self.turn_timeout(),
            CallTimer::Silence => self.silence_timeout(),
            CallTimer::MaxDuration => self.time_is_up(),
            CallTimer::Closing => self.closing_time_over(),
            CallTimer::Machine => self.machine_had_its_time(),
            CallTimer::Quiet => self.machine_is_quiet(),
            CallTimer::EndReport => self.end_report_missing(),
            CallTimer::Speculate => self.speculate(),
            CallTimer::Filler => self.fill(),
            CallTimer::Keys => self.keys_over(),
            CallTimer::Transfer => self.transfer_unreported(),
            CallTimer::Reopen => self.reopen(),
        }
    }

    /// Converts a time of the audio stream to milliseconds into the call.
    fn call_ms(&self, stream_ms: u64) -> i64 {
        let opened = self.leg.media_ms.unwrap_or(0);
        let answered = self.leg.answered_ms.unwrap_or(opened);
        i64::try_from(stream_ms.saturating_add(opened.saturating_sub(answered))).unwrap_or(i64::MAX)
    }

    /// Returns the current time of the audio stream.
    fn stream_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.leg.media_ms.unwrap_or(now_ms))
    }

    /// Returns the current time in milliseconds into the call.
    pub fn elapsed_ms(&self, now_ms: u64) -> i64 {
        let answered = self.leg.answered_ms.unwrap_or(now_ms);
        i64::try_from(now_ms.saturating_sub(answered)).unwrap_or(i64::MAX)
    }

    fn span(&self, started_ms: u64, ended_ms: u64) -> Span {
        Span {
            started_ms: self.call_ms(started_ms.min(ended_ms)),
            ended_ms: self.call_ms(ended_ms),
        }
    }

    /// Records an event that happens now.
    fn record(&mut self, name: &str, detail: &Value) {
        self.record_at(name, self.elapsed_ms(self.now_ms), detail);
    }

    /// Records an event at a time of the call.
    fn record_at(&mut self, name: &str, at_ms: i64, detail: &Value) {
        self.fx.push(event_fact(name, at_ms, detail));
    }

    fn new_speech(&mut self, protected: bool) -> SpeechId {
        let id = SpeechId(self.next_speech);
        self.next_speech += 1;
        if let Some(old) = self.speech.replace(Speech::new(id, protected)) {
            self.replaced = Some(old);
        }
        id
    }
}

fn event_fact(name: &str, at_ms: i64, detail: &Value) -> Effect {
    Effect::Record(Fact::Event(EventFact {
        name: name.to_owned(),
        at_ms,
        detail: detail.to_string(),
    }))
}
