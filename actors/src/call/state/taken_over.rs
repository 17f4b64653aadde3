//! Continues a call whose previous process died or became unreachable. Its carrier brought the call here, and
//! it continues where it was.

use serde_json::{Value, json};

use crate::call::state::{
    Answerer, Commands, Effect, Handovers, Leg, Machine, MediaWishes, OutsideTools, Phase, Resume, Rules, State,
    disclosing, disclosing::Disclosing, ending, ending::GOODBYE_MS, filler, operator, operator::left,
    operator::operator_after, opt_out::OptOut, speech, talk, tools::former_runs, transfer, walking,
};
use crate::call::{CallTimer, EndReason, history::History};
use domain::{
    opt_out::{self, Wish},
    phrases::asks_about_opt_out,
    ports::{
        carrier::{CarrierCallId, MachineVerdict},
        language_model::{HistoryItem, Speaker},
        store::{CallDirection, EventFact, ReturnedCall, TAKEN_OVER, TRANSFER_FAILED, TRANSFER_TAKEN, TurnFact},
    },
};

/// Time in milliseconds in which the carrier must open the media socket after it was told to.
const MEDIA_WITHIN_MS: u64 = 20_000;

/// First words of the agent after the takeover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The greeting, since nobody has said anything.
    Greeting,
    /// The question whether the user is still there.
    AreYouThere,
    /// The question that the user did not answer.
    SameQuestion,
    /// The answer to the user's last words.
    Answer,
    /// The opt-out question, which was not heard to its end or not answered.
    OptOutQuestion,
    /// The news that nobody was reached, since the call was being transferred.
    NobodyThere,
    /// The news that the operator's connection was lost.
    OperatorGone,
    /// The goodbye to a user who opted out of calls.
    OptedOut,
}

/// Wish never to be called again that was heard but not acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenWish {
    /// The user wishes it.
    Wished,
    /// The user must be asked, or asked again.
    Unanswered,
}

fn open_wish(turns: &[TurnFact]) -> Option<OpenWish> {
    let spoken = turns.iter().rposition(|turn| turn.speaker == Speaker::Agent);
    let (before, words) = turns.split_at(spoken.map_or(0, |last| last + 1));
    let asked = before.last().is_some_and(|turn| asks_about_opt_out(&turn.text));
    let wish = words.iter().filter_map(|turn| opt_out::wish(&turn.text)).max();
    let answer = words.iter().find_map(|turn| opt_out::answer(&turn.text));
    let silent = words.iter().all(|turn| turn.text.trim().is_empty());
    match wish {
        Some(Wish::Clear) => Some(OpenWish::Wished),
        _ if asked && answer == Some(true) => Some(OpenWish::Wished),
        _ if asked && silent => Some(OpenWish::Unanswered),
        Some(Wish::Likely) if !was_asked(turns) => Some(OpenWish::Unanswered),
        Some(Wish::Likely) | None => None,
    }
}

fn was_asked(turns: &[TurnFact]) -> bool {
    let mut spoken = turns.iter().filter(|turn| turn.speaker == Speaker::Agent);
    spoken.any(|turn| asks_about_opt_out(&turn.text))
}

/// Returns the question that the agent asked last, if it was the last thing said.
fn open_question(history: &History) -> Option<&str> {
    let Some(HistoryItem::Said {
        speaker: Speaker::Agent,
        text,
        interrupted: false,
        ..
    }) = history.last_said()
    else {
        return None;
    };
    let ends = |character: char| {
        matches!(
            character,
            '.' | '!' | '?' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{964}'
        )
    };
    let text = text.trim_end();
    text.ends_with(['?', '\u{ff1f}']).then_some(())?;
    let before = text.trim_end_matches(ends);
    let begin = before
        .rfind(ends)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    Some(text[begin..].trim_start())
}

/// Returns whether the call was lost during a transfer. Its carrier asks how it goes on, so nobody was reached.
fn was_handed_on(events: &[EventFact]) -> bool {
    let mut told = events.iter().rev();
    let last = told.find(|event| matches!(event.name.as_str(), TRANSFER_TAKEN | TRANSFER_FAILED));
    last.is_some_and(|event| event.name == TRANSFER_TAKEN)
}

fn opening(call: &ReturnedCall, history: &History, wish: Option<OpenWish>) -> Opening {
    let listed = call.opted_out && call.direction == CallDirection::Outbound;
    match wish {
        _ if listed => return Opening::OptedOut,
        Some(OpenWish::Wished) => return Opening::OptedOut,
        Some(OpenWish::Unanswered) => return Opening::OptOutQuestion,
        None => {}
    }
    match history.last_said() {
        _ if was_handed_on(&call.events) => Opening::NobodyThere,
        _ if operator_after(&call.events).is_some() => Opening::OperatorGone,
        None => Opening::Greeting,
        Some(HistoryItem::Said {
            speaker: Speaker::User, ..
        }) => Opening::Answer,
        Some(_) if open_question(history).is_some() => Opening::SameQuestion,
        Some(_) => Opening::AreYouThere,
    }
}

/// Known facts about who answered: the machine on the line with its time, and the carrier's own verdict.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    machine: Option<(Machine, i64)>,
    carrier_said: Option<MachineVerdict>,
}

impl Answered {
    /// Adds a recorded verdict with the same rules as the call that received it: `State::who_answered` and
    /// `State::take_carriers_word`.
    fn told(self, event: &EventFact) -> Self {
        let detail: Value = serde_json::from_str(&event.detail).unwrap_or(Value::Null);
        let (verdict, reason) = (detail["verdict"].as_str(), detail["reason"].as_str());
        let is_person = self.carrier_said == Some(MachineVerdict::Human);
        let in_mailbox = matches!(self.machine, Some((Machine::Beep, _)));
        let found = |machine| Some((machine, event.at_ms));
        let screening = Machine::Screening { told: 0, since_ms: 0 };
        if reason == Some("carrier") {
            let (carrier_said, machine) = match verdict {
                Some("human") if in_mailbox => (MachineVerdict::Human, None),
                Some("human") => (MachineVerdict::Human, self.machine),
                Some("voicemail") => (MachineVerdict::Machine, self.machine.or(found(Machine::Beep))),
                Some("unavailable") => (MachineVerdict::Fax, found(Machine::Menu)),
                _ => return self,
            };
            return Self {
                machine,
                carrier_said: Some(carrier_said),
            };
        }
        let machine = match verdict {
            Some("human") if in_mailbox && self.carrier_said == Some(MachineVerdict::Machine) => self.machine,
            Some("human") if in_mailbox || matches!(self.machine, Some((Machine::Menu, _))) => None,
            Some("voicemail" | "unavailable") if is_person => self.machine,
            Some("voicemail") => found(Machine::Beep),
            Some("ivr") if reason == Some("screening") => found(screening),
            Some("ivr" | "unavailable") => found(Machine::Menu),
            _ => self.machine,
        };
        Self { machine, ..self }
    }
}

/// Returns the machine on the line as far as is known. There is none if an assistant or a menu put a person
/// through, or if the agent talked with a person after all. A mailbox whose message had not begun still waits
/// for its beep.
fn machine(call: &ReturnedCall, answered: Answered, message: Option<&str>) -> Option<Machine> {
    let (machine, since_ms) = answered.machine?;
    let mut later = call.turns.iter().filter(|turn| turn.started_ms > since_ms);
    if machine != Machine::Beep {
        return later.next().is_none().then_some(machine);
    }
    // A mailbox's words are recorded as turns as well, so only the agent's turns show a conversation.
    let mut spoken = later.filter(|turn| turn.speaker == Speaker::Agent).peekable();
    let is_message = |turn: &TurnFact| message.is_some_and(|message| heard_of(message, &turn.text));
    match spoken.peek() {
        None => Some(Machine::Beep),
        Some(_) => spoken.all(is_message).then_some(Machine::Message { beeped: false }),
    }
}

/// Returns whether the words heard are the text or its beginning.
fn heard_of(text: &str, heard: &str) -> bool {
    let mut words = text.split_whitespace();
    heard
        .split_whitespace()
        .all(|word| words.next().is_some_and(|said| said.starts_with(word)))
}

fn count(events: &[EventFact], name: &str) -> u32 {
    let count = events.iter().filter(|event| event.name == name).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl State {
    /// Creates the state of the call as it was left, with its time running on from its answer. Only its media
    /// socket is awaited.
    pub fn taken_over(rules: Rules, leg: CarrierCallId, call: &ReturnedCall) -> (Self, Vec<Effect>) {
        let (mut state, _) = Self::new(rules);
        let elapsed_ms = u64::try_from(call.elapsed_ms).unwrap_or(0);
        state.leg = Leg {
            inbound: call.direction == CallDirection::Inbound,
            dialed: true,
            id: Some(leg),
            answered_ms: Some(0),
            rejoined: true,
            barge_in: true,
            ..Leg::default()
        };
        state.history = History::of(&call.turns, &former_runs(&call.events), call.collected.clone());
        state.tools = OutsideTools::inherited(&call.events);
        state.media_wishes = MediaWishes::after(count(&call.events, TAKEN_OVER));
        state.handed_on = count(&call.events, "transfer");
        state.handovers = Handovers::after(count(&call.events, "agent_transfer"));
        state.commands = Commands::inherited(&call.events);
        state.disclosing = Disclosing::inherited(&call.events);
        state.lost_ms = elapsed_ms;
        let verdicts = call.events.iter().filter(|event| event.name == "amd");
        let answered = verdicts.fold(Answered::default(), Answered::told);
        let message = state.rules.voicemail_message.as_deref();
        let machine = machine(call, answered, message).filter(|_| !state.leg.inbound);
        state.answerer = Answerer::inherited(machine, answered.carrier_said);
        let until_close_ms = state.rules.max_duration_ms - state.rules.closing_lead_ms();
        state.fx = vec![
            Effect::SetTimer(CallTimer::EndReport, MEDIA_WITHIN_MS),
            Effect::SetTimer(CallTimer::MaxDuration, until_close_ms.saturating_sub(elapsed_ms).max(1)),
        ];
        walking::resume_walk(&mut state, &call.events, &call.turns);
        if was_handed_on(&call.events) {
            // Recovery must not assume that the caller is talking with somebody else.
            let detail = json!({ "reason": "the caller came back" });
            state.record_at(TRANSFER_FAILED, call.elapsed_ms, &detail);
        }
        if let Some(by) = operator_after(&call.events) {
            state.fx.push(left(Some(&by), "lost", call.elapsed_ms));
        }
        let hears_wishes = state.rules.smart_opt_out && machine.is_none();
        let wish = hears_wishes.then(|| open_wish(&call.turns)).flatten();
        if hears_wishes && was_asked(&call.turns) {
            state.user.opt_out = OptOut::NotSaid;
        }
        if wish == Some(OpenWish::Wished) {
            // Written at once: the wish also holds if no media comes.
            state.user.opt_out = OptOut::Wished;
            state.fx.push(Effect::WriteOptOut);
        }
        state.phase = Phase::Lost(match machine {
            Some(machine) => Resume::Machine(machine),
            None => Resume::TakenOver(opening(call, &state.history, wish)),
        });
        let effects = std::mem::take(&mut state.fx);
        (state, effects)
    }
}

/// Continues the call once the media is here, with a short remark that the line was gone.
pub fn go_on_as_heir(call: &mut State, opening: Opening) {
    let lost_you = call.rules.phrases.lost_you;
    let opening = match opening {
        // A question would be talked over.
        Opening::SameQuestion | Opening::AreYouThere if walking::acts_next(call) => Opening::Answer,
        opening => opening,
    };
    match opening {
        Opening::Answer | Opening::SameQuestion | Opening::AreYouThere if disclosing::must_disclose(call) => {
            // The agent has said nothing else.
            call.user.unanswered = opening == Opening::Answer;
            return talk::greet(call);
        }
        Opening::Greeting => return talk::greet(call),
        Opening::OptedOut => {
            let goodbye = call.rules.phrases.opted_out;
            return ending::say_goodbye(call, goodbye, EndReason::Completed, GOODBYE_MS);
        }
        Opening::NobodyThere => return transfer::go_on_after_transfer(call, false),
        Opening::Answer => {
            call.phase = Phase::Thinking;
            filler::say_before_reply(call, lost_you);
            return walking::answer_words(call);
        }
        Opening::OperatorGone | Opening::OptOutQuestion | Opening::SameQuestion | Opening::AreYouThere => {}
    }
    call.phase = Phase::Speaking;
    call.reply.protected = false;
    if opening == Opening::OperatorGone {
        return operator::say_back_with_you(call);
    }
    if opening == Opening::OptOutQuestion {
        call.user.opt_out = OptOut::Asked;
        let words = format!("{lost_you} {}", call.rules.phrases.opt_out_meant);
        return speech::say_all(call, &words, false);
    }
    let question = open_question(&call.history).map(|question| format!("{lost_you} {question}"));
    let words = question.unwrap_or_else(|| call.rules.phrases.cut_off.to_owned());
    speech::say_all(call, &words, false);
}
