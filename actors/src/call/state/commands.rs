//! Clients' commands to a live call: words to say, a transfer, keys to press, notes for the model.

use std::collections::VecDeque;

use media::turn::endpointing::Utterance;
use serde_json::{Value, json};

use crate::call::state::{
    Effect, Latency, Machine, Phase, State, Waste, disclosing, ending, filler, menu, operator, opt_out, speculation,
    speech, talk, transfer, transfer::kind_word,
};
use crate::call::{CallCommand, CommandKind};
use domain::{
    agent::UsableTransfer,
    ports::{
        language_model::{Note, NoteScope},
        store::{EventFact, INSTRUCTIONS},
    },
};

/// Maximum texts that wait to be said.
const MOST_WORDS: usize = 10;

/// Maximum notes to the model that hold at once.
const MOST_NOTES: usize = 10;

/// Commands that wait, and notes to the model.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    words: VecDeque<String>,
    /// Transfer that begins once the words were said.
    transfer: Option<UsableTransfer>,
    notes: Vec<Note>,
    /// Number of notes, from the oldest, that the agent's present or last turn was asked with.
    told: usize,
}

impl Commands {
    /// Returns the notes for the call that were given before a takeover.
    pub fn inherited(events: &[EventFact]) -> Self {
        let given = events.iter().filter(|event| event.name == INSTRUCTIONS);
        let note = |event: &EventFact| {
            let detail: Value = serde_json::from_str(&event.detail).ok()?;
            let holds_for = detail["for"].as_str().and_then(NoteScope::parse).unwrap_or_default();
            let text = detail["text"].as_str()?.to_owned();
            (holds_for == NoteScope::Call).then_some(Note { text, holds_for })
        };
        Self {
            notes: given.filter_map(note).take(MOST_NOTES).collect(),
            ..Self::default()
        }
    }

    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Notes that the model is asked for the agent's turn with the notes so far.
    pub fn told(&mut self) {
        self.told = self.notes.len();
    }

    /// Drops the notes that held for the agent's turn, which is over.
    pub fn turn_over(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        self.notes.retain(|note| {
            let was_told = told > 0;
            told = told.saturating_sub(1);
            !was_told || note.holds_for == NoteScope::Call
        });
    }
}

/// Returns why the call cannot carry out a command now.
pub fn refusal(call: &State, wanted: &CommandKind) -> Option<String> {
    let may = match wanted {
        CommandKind::Digits { .. } => operator::has_operator(call) || is_in_menu(call),
        CommandKind::Transfer { .. } => operator::has_operator(call),
        _ => false,
    };
    if let Some(why) = not_in_conversation(call).filter(|_| !may) {
        return Some(why);
    }
    let full = |what: &str, most: usize| Some(format!("{most} {what} already, and no more are taken"));
    match wanted {
        CommandKind::Transfer { .. } if call.leg.id.is_none() => {
            Some("the carrier has not named the call yet".to_owned())
        }
        CommandKind::Transfer { message, .. } if operator::has_operator(call) => {
            let why = "the operator announces the transfer: leave out `message`";
            message.is_some().then(|| why.to_owned())
        }
        CommandKind::Transfer { .. } if call.commands.transfer.is_some() => {
            Some("the call is being transferred already".to_owned())
        }
        CommandKind::Say { .. } | CommandKind::Transfer { .. } if call.commands.words.len() >= MOST_WORDS => {
            full("texts wait to be said", MOST_WORDS)
        }
        CommandKind::Instructions { .. } if call.commands.notes.len() >= MOST_NOTES => {
            full("instructions hold", MOST_NOTES)
        }
        _ => None,
    }
}

/// Returns why the agent and the user do not talk, unless they do.
pub fn not_in_conversation(call: &State) -> Option<String> {
    if matches!(call.phase, Phase::Lost(_)) {
        return Some("the call's audio connection is lost".to_owned());
    }
    let state = json!(call.phase());
    let mut named = format!("the call is `{}`", state.as_str().unwrap_or_default());
    if let Some(by) = operator::name(call).filter(|_| operator::has_operator(call)) {
        named.push_str(&format!("; {by} has it and can speak, or give it back first"));
    }
    (!talk::in_conversation(call)).then_some(named)
}

/// Returns whether a phone menu or call screening is on the line.
fn is_in_menu(call: &State) -> bool {
    matches!(
        call.phase,
        Phase::Machine(Machine::Menu | Machine::Pressed { .. } | Machine::Screening { .. })
    )
}

/// Carries out a command, unless it is refused.
pub fn commanded(call: &mut State, command: CallCommand) {
    let CallCommand { by, kind } = command;
    if refusal(call, &kind).is_some() {
        return;
    }
    match kind {
        CommandKind::Say { text, interrupt } => {
            call.record("say", &json!({ "by": by, "text": text, "interrupt": interrupt }));
            call.commands.words.push_back(text);
            say_soon(call, interrupt);
        }
        CommandKind::Transfer { transfer, message } => {
            let Some(wanted) = UsableTransfer::of(&transfer) else {
                return;
            };
            let (to, kind) = (wanted.to.as_str(), kind_word(wanted.kind));
            call.record("transfer_wanted", &json!({ "by": by, "to": to, "kind": kind }));
            if operator::has_operator(call) {
                // The operator's transfer takes the place of one that waits for the agent.
                call.commands.transfer = None;
                return transfer::hand_on(call, wanted);
            }
            let announced = message.unwrap_or_else(|| call.rules.phrases.handing_on.to_owned());
            call.commands.words.push_back(announced);
            call.commands.transfer = Some(wanted);
            say_soon(call, false);
        }
        CommandKind::Digits { digits } => {
            call.record("digits", &json!({ "by": by, "digits": digits }));
            match is_in_menu(call) {
                true => menu::press_in_menu(call, digits),
                false => call.fx.push(Effect::Press(digits)),
            }
        }
        CommandKind::Instructions { text, holds_for } => {
            let detail = json!({ "by": by, "text": text, "for": holds_for.as_str() });
            call.record(INSTRUCTIONS, &detail);
            // The reply prepared ahead does not know the note.
            speculation::drop_early(call, Waste::Overtaken);
            call.commands.notes.push(Note { text, holds_for });
        }
        CommandKind::Text { text } => {
            let at_ms = call.stream_ms(call.now_ms);
            let utterance = Utterance {
                text,
                damaged: false,
                started_ms: at_ms,
                ended_ms: at_ms,
                final_ms: None,
            };
            talk::on_utterance(call, &utterance, false);
        }
    }
}

/// Keeps the note of an operator who gives the call back, in place of the oldest if there are too many.
pub fn keep_note(call: &mut State, by: &str, text: String) {
    let holds_for = NoteScope::Call;
    let detail = json!({ "by": by, "text": text, "for": holds_for.as_str() });
    call.record(INSTRUCTIONS, &detail);
    if call.commands.notes.len() >= MOST_NOTES {
        call.commands.notes.remove(0);
        call.commands.told = call.commands.told.saturating_sub(1);
    }
    call.commands.notes.push(Note { text, holds_for });
}

/// Says the waiting words if nobody speaks. With `interrupt`, cuts the agent off first.
fn say_soon(call: &mut State, interrupt: bool) {
    match call.phase {
        Phase::Listening if interrupt || !call.user.speaking => drop(next_command(call)),
        Phase::Thinking if interrupt && !call.handovers.is_changing() => {
            ending::stop_reply(call);
            call.user.unanswered = true;
            next_command(call);
        }
        // Cuts off the words that should follow the disclosure.
        Phase::Greeting | Phase::Speaking if interrupt && disclosing::discloses(call) => {
            disclosing::disclose_alone(call);
        }
        Phase::Greeting | Phase::Speaking if interrupt => {
            let is_answer = call.speech.as_ref().is_some_and(|speech| speech.by_model);
            let unheard = call.speech.as_ref().is_some_and(|speech| speech.started_ms.is_none());
            call.user.unanswered |= filler::is_only_filled(call) || (is_answer && unheard);
            ending::stop_reply(call);
            match call.speech {
                // The words follow once it is known how much of the speech was heard.
                Some(_) => call.fx.push(Effect::StopSpeaking),
                None => talk::turn_over(call),
            }
        }
        _ => {}
    }
}

/// Says the next waiting words, or begins the waiting transfer. Returns false if there is neither.
pub fn next_command(call: &mut State) -> bool {
    if let Some(words) = call.commands.words.pop_front() {
        speculation::drop_early(call, Waste::Overtaken);
        talk::leave_listening(call);
        opt_out::opt_out_not_answered(call);
        call.latency = Latency::default();
        call.reply.only_filled = false;
        call.reply.protected = false;
        call.phase = Phase::Speaking;
        speech::say_all(call, &words, false);
        return true;
    }
    let Some(wanted) = call.commands.transfer.take() else {
        return false;
    };
    // The model wanted its own before it knew of this one.
    call.reply.transfer = None;
    transfer::hand_on(call, wanted);
    true
}

/// Carries out waiting commands before the user's last words are answered. Returns false if there are none.
pub fn commands_first(call: &mut State) -> bool {
    let first = call.phase == Phase::Listening && next_command(call);
    call.user.unanswered |= first;
    first
}
