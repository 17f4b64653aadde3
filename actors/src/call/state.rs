//! The state machine of a call, free of I/O and clocks: events go in, effects come out.
//!
//! `Scheduled → Dialing → Ringing → PickedUp → (Greeting) → Listening ⇄ Thinking ⇄ Speaking → (Machine) →
//! Closing → HangingUp → Ended`. Facts are monotone: a late or repeated one changes nothing, so no event is
//! an error.
//! All steps see the phase, the leg, the user's turn, the reply and the speech. Most other parts have private fields.

mod another_agent;
mod answerer;
mod commands;
mod ending;
mod event;
mod floor;
mod line;
mod operator;
mod rules;
mod taken_over;
#[cfg(test)]
mod tests;
mod tools;
mod walk;

pub use event::{AgentUnavailable, Effect, Event, PermitAnswer, ToolAnswer, TransferAnswer};
pub use line::transfer::CONFERENCE;
pub use operator::{OperateRefusal, OperatorLeft};
pub use rules::{GraphRules, Rules};
pub use walk::router::Judgement;

use another_agent::Handovers;
use answerer::{Answerer, Machine, menu, voicemail, who_answered};
use commands::Commands;
use ending::{By, CallEnd};
use floor::speculation::{self, EarlyReply, Waste};
use floor::speech::{self, Speech};
use floor::{ReplyState, User, disclosing, filler, keys, latency::Latency, opt_out, reply, talk};
use line::{Leg, leg, lost, transfer};
use lost::{MediaWishes, Resume};
use operator::Operator;
use tools::OutsideTools;
use transfer::HandOver;
use walk::{Walking, node_steps, router, walking};

use serde_json::Value;

use super::{
    CallPhase, CallTimer, CommandKind,
    history::{History, Span},
    outcome::EndReason,
};
use crate::audio_stream::SpeechId;
use domain::ports::{
    carrier::CarrierCallId,
    language_model::{HistoryItem, Note},
    store::{EventFact, Fact},
    synthesizer::Likely,
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
    keys: keys::Keys,
    answerer: Answerer,
    tools: OutsideTools,
    handovers: Handovers,
    /// How often the carrier was asked to transfer the call.
    handed_on: u32,
    /// Requests for lost media, and the time since when it is gone.
    media_wishes: MediaWishes,
    lost_ms: u64,
    /// Number of facts recorded about pauses of playout and echoes.
    notes: usize,
    disclosing: disclosing::Disclosing,
    /// Clients' commands that wait or hold on.
    commands: Commands,
    /// The operator who has the call.
    operator: Option<Operator>,
    /// Walk through the graph of the agent, if it has one.
    walking: Option<Box<Walking>>,
    end: CallEnd,
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
            keys: keys::Keys::default(),
            answerer: Answerer::default(),
            tools: OutsideTools::default(),
            handovers: Handovers::default(),
            handed_on: 0,
            media_wishes: MediaWishes::default(),
            lost_ms: 0,
            notes: 0,
            disclosing: disclosing::Disclosing::default(),
            commands: Commands::default(),
            operator: None,
            walking,
            end: CallEnd::default(),
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
        let call = &mut self;
        match event {
            Event::Permitted(answer) => leg::permitted(call, answer),
            Event::Dialed(result) => leg::dialed(call, result),
            Event::NotOurLeg { anothers } => leg::not_our_leg(call, anothers),
            Event::NotPlaced => leg::outcome_stays_unknown(call),
            Event::Progress(progress) => leg::progress(call, &progress),
            Event::MediaOpened => leg::media_opened(call),
            Event::CameBack => lost::came_back(call),
            Event::TransferAsked { try_no, answer } => transfer::transfer_asked(call, try_no, answer),
            Event::NotReopened { try_no } => lost::not_reopened(call, try_no),
            Event::Stream(event) => talk::stream_event(call, event),
            Event::StreamGone { crashed } => ending::stream_gone(call, crashed),
            Event::Reply(Some(Ok(event))) if call.early.is_none() => reply::reply_event(call, event),
            Event::Reply(Some(Ok(event))) => speculation::early_event(call, event),
            Event::Reply(Some(Err(error))) if call.early.is_none() => reply::reply_failed(call, &error),
            Event::Reply(Some(Err(_))) => speculation::drop_early(call, Waste::Failed),
            Event::Reply(None) if call.early.is_none() => reply::reply_ended(call),
            Event::Reply(None) => speculation::early_ended(call),
            Event::ToolsOffered(names) => call.tools.offer(names),
            Event::ToolAnswered(answer) => tools::tool_answered(call, answer),
            Event::RouterAnswered { number, judgement } => router::router_answered(call, number, judgement),
            Event::ArgumentsChosen { number, chosen } => node_steps::arguments_chosen(call, number, chosen),
            Event::AgentFound { try_no, found } => another_agent::agent_found(call, try_no, found),
            Event::Timer(timer) => call.timer(timer),
            Event::Commanded(command) => commands::commanded(call, *command),
            Event::OperatorJoined { by } => operator::operator_joined(call, by),
            Event::OperatorLeft(left) => operator::operator_left(call, left),
            Event::HangUp => ending::hang_up(call),
            Event::End => {
                call.end.note_unwanted();
                ending::hang_up(call);
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

    /// Replaces the rules. The maximum duration stays as it was set at the start of the call.
    pub fn take_rules(&mut self, rules: Rules) {
        self.user.silence_left_ms = rules.silence_end_ms.unwrap_or(0);
        self.read_texts_again(rules);
    }

    /// Returns texts that the agent will probably say, the soonest first.
    pub fn likely_said(&self) -> Vec<Likely> {
        self.rules.likely_said()
    }

    /// Returns how often the carrier asked how the call goes on.
    pub fn returns(&self) -> u32 {
        self.media_wishes.returns()
    }

    /// Returns whether a tool outside the call is in progress.
    pub fn runs_tool(&self) -> bool {
        self.tools.is_running()
    }

    /// Returns the notes to the model, oldest first.
    pub fn notes(&self) -> &[Note] {
        self.commands.notes()
    }

    /// Returns why the call cannot carry out a command now.
    pub fn refusal(&self, wanted: &CommandKind) -> Option<String> {
        commands::refusal(self, wanted)
    }

    /// Returns the name of the operator who has the call, until it is given back.
    pub fn operator(&self) -> Option<&str> {
        operator::name(self)
    }

    /// Returns why an operator cannot take the call now.
    pub fn operate_refusal(&self) -> Option<OperateRefusal> {
        operator::refusal(self)
    }

    /// Returns the graph of the present agent.
    pub fn graph(&self) -> Option<&GraphRules> {
        self.rules.graph.as_ref()
    }

    /// Returns the id of the node in which the call is.
    pub fn node(&self) -> Option<&str> {
        self.walking.as_ref()?.at()
    }

    /// Returns the id of the node whose changes of the agent are in use.
    pub fn adopted(&self) -> Option<&str> {
        self.walking.as_ref()?.adopted()
    }

    fn timer(&mut self, timer: CallTimer) {
        match timer {
            CallTimer::Ring => leg::rang_long_enough(self),
            CallTimer::Settle => leg::outcome_stays_unknown(self),
            CallTimer::MediaWait => leg::media_never_came(self),
            CallTimer::PickUp => talk::pick_up_silence(self),
            CallTimer::BargeIn => talk::barge_in_allowed(self),
            CallTimer::Turn => talk::turn_timeout(self),
            CallTimer::Silence => talk::silence_timeout(self),
            CallTimer::MaxDuration => ending::time_is_up(self),
            CallTimer::Closing => ending::closing_time_over(self),
            CallTimer::Machine => who_answered::machine_had_its_time(self),
            CallTimer::Quiet => who_answered::machine_is_quiet(self),
            CallTimer::EndReport => ending::end_report_missing(self),
            CallTimer::Speculate => speculation::speculate(self),
            CallTimer::Filler => filler::fill(self),
            CallTimer::Keys => keys::keys_over(self),
            CallTimer::Transfer => transfer::transfer_unreported(self),
            CallTimer::Reopen => lost::reopen(self),
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

    fn set_timer(&mut self, timer: CallTimer, after_ms: u64) {
        self.fx.push(Effect::SetTimer(timer, after_ms));
    }

    fn stop_timer(&mut self, timer: CallTimer) {
        self.fx.push(Effect::CancelTimer(timer));
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
