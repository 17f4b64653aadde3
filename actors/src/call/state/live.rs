//! Clients' commands to a live call: words to say, a transfer, keys to press, notes for the model.

use std::collections::VecDeque;

use media::turn::endpointing::Utterance;
use serde_json::{Value, json};

use super::{Effect, Latency, Phase, State, speculation::Waste, transfer::kind_word, who_answered::Machine};
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
pub(super) struct Commands {
    words: VecDeque<String>,
    /// Transfer that begins once the words were said.
    transfer: Option<UsableTransfer>,
    notes: Vec<Note>,
    /// Number of notes, from the oldest, that the agent's present or last turn was asked with.
    told: usize,
}

impl Commands {
    /// Returns the notes for the call that were given before a takeover.
    pub(super) fn inherited(events: &[EventFact]) -> Self {
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

    /// Notes that the agent's turn is asked with the notes so far.
    pub(super) fn told(&mut self) {
        self.told = self.notes.len();
    }

    /// Drops the notes that held for the agent's turn, which is over.
    pub(super) fn turn_over(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        self.notes.retain(|note| {
            let was_told = told > 0;
            told = told.saturating_sub(1);
            !was_told || note.holds_for == NoteScope::Call
        });
    }
}

impl State {
    /// Returns the notes to the model, oldest first.
    pub fn notes(&self) -> &[Note] {
        &self.commands.notes
    }

    /// Returns why the call cannot carry out a command now.
    pub fn refusal(&self, wanted: &CommandKind) -> Option<String> {
        let may = match wanted {
            CommandKind::Digits { .. } => self.has_operator() || self.is_in_menu(),
            CommandKind::Transfer { .. } => self.has_operator(),
            _ => false,
        };
        if let Some(why) = self.not_in_conversation().filter(|_| !may) {
            return Some(why);
        }
        let full = |what: &str, most: usize| Some(format!("{most} {what} already, and no more are taken"));
        match wanted {
            CommandKind::Transfer { .. } if self.leg.id.is_none() => {
                Some("the carrier has not named the call yet".to_owned())
            }
            CommandKind::Transfer { message, .. } if self.has_operator() => {
                let why = "the operator announces the transfer: leave out `message`";
                message.is_some().then(|| why.to_owned())
            }
            CommandKind::Transfer { .. } if self.commands.transfer.is_some() => {
                Some("the call is being transferred already".to_owned())
            }
            CommandKind::Say { .. } | CommandKind::Transfer { .. } if self.commands.words.len() >= MOST_WORDS => {
                full("texts wait to be said", MOST_WORDS)
            }
            CommandKind::Instructions { .. } if self.commands.notes.len() >= MOST_NOTES => {
                full("instructions hold", MOST_NOTES)
            }
            _ => None,
        }
    }

    /// Returns why the agent and the user do not talk, unless they do.
    pub(super) fn not_in_conversation(&self) -> Option<String> {
        if matches!(self.phase, Phase::Lost(_)) {
            return Some("the call's audio connection is lost".to_owned());
        }
        let state = json!(self.phase());
        let mut named = format!("the call is `{}`", state.as_str().unwrap_or_default());
        if let Some(by) = self.operator().filter(|_| self.has_operator()) {
            named.push_str(&format!("; {by} has it and can speak, or give it back first"));
        }
        (!self.in_conversation()).then_some(named)
    }

    /// Returns whether a phone menu or call screening is on the line.
    fn is_in_menu(&self) -> bool {
        matches!(
            self.phase,
            Phase::Machine(Machine::Menu | Machine::Pressed { .. } | Machine::Screening { .. })
        )
    }

    /// Carries out a command, unless it is refused.
    pub(super) fn commanded(&mut self, command: CallCommand) {
        let CallCommand { by, kind } = command;
        if self.refusal(&kind).is_some() {
            return;
        }
        match kind {
            CommandKind::Say { text, interrupt } => {
                self.record("say", &json!({ "by": by, "text": text, "interrupt": interrupt }));
                self.commands.words.push_back(text);
                self.say_soon(interrupt);
            }
            CommandKind::Transfer { transfer, message } => {
                let Some(wanted) = UsableTransfer::of(&transfer) else {
                    return;
                };
                let (to, kind) = (wanted.to.as_str(), kind_word(wanted.kind));
                self.record("transfer_wanted", &json!({ "by": by, "to": to, "kind": kind }));
                if self.has_operator() {
                    // The operator's transfer takes the place of one that waits for the agent.
                    self.commands.transfer = None;
                    return self.hand_on(wanted);
                }
                let announced = message.unwrap_or_else(|| self.rules.phrases.handing_on.to_owned());
                self.commands.words.push_back(announced);
                self.commands.transfer = Some(wanted);
                self.say_soon(false);
            }
            CommandKind::Digits { digits } => {
                self.record("digits", &json!({ "by": by, "digits": digits }));
                match self.is_in_menu() {
                    true => self.press_in_menu(digits),
                    false => self.fx.push(Effect::Press(digits)),
                }
            }
            CommandKind::Instructions { text, holds_for } => {
                let detail = json!({ "by": by, "text": text, "for": holds_for.as_str() });
                self.record(INSTRUCTIONS, &detail);
                // The reply prepared ahead does not know the note.
                self.drop_early(Waste::Overtaken);
                self.commands.notes.push(Note { text, holds_for });
            }
            CommandKind::Text { text } => {
                let at_ms = self.stream_ms(self.now_ms);
                let utterance = Utterance {
                    text,
                    damaged: false,
                    started_ms: at_ms,
                    ended_ms: at_ms,
                    final_ms: None,
                };
                self.utterance(&utterance, false);
            }
        }
    }

    /// Keeps the note of an operator who gives the call back, in place of the oldest if there are too many.
    pub(super) fn keep_note(&mut self, by: &str, text: String) {
        let holds_for = NoteScope::Call;
        let detail = json!({ "by": by, "text": text, "for": holds_for.as_str() });
        self.record(INSTRUCTIONS, &detail);
        if self.commands.notes.len() >= MOST_NOTES {
            self.commands.notes.remove(0);
            self.commands.told = self.commands.told.saturating_sub(1);
        }
        self.commands.notes.push(Note { text, holds_for });
    }

    /// Says the waiting words if nobody speaks. With `interrupt`, cuts the agent off first.
    fn say_soon(&mut self, interrupt: bool) {
        match self.phase {
            Phase::Listening if interrupt || !self.user.speaking => drop(self.next_command()),
            Phase::Thinking if interrupt && self.taking_over.is_none() => {
                self.stop_reply();
                self.user.unanswered = true;
                self.next_command();
            }
            // Cuts off the words that should follow the disclosure.
            Phase::Greeting | Phase::Speaking if interrupt && self.discloses() => self.disclose_alone(),
            Phase::Greeting | Phase::Speaking if interrupt => {
                let is_answer = self.speech.as_ref().is_some_and(|speech| speech.by_model);
                let unheard = self.speech.as_ref().is_some_and(|speech| speech.started_ms.is_none());
                self.user.unanswered |= self.is_only_filled() || (is_answer && unheard);
                self.stop_reply();
                match self.speech {
                    // The words follow once it is known how much of the speech was heard.
                    Some(_) => self.fx.push(Effect::StopSpeaking),
                    None => self.turn_over(),
                }
            }
            _ => {}
        }
    }

    /// Says the next waiting words, or begins the waiting transfer. Returns false if there is neither.
    pub(super) fn next_command(&mut self) -> bool {
        if let Some(words) = self.commands.words.pop_front() {
            self.drop_early(Waste::Overtaken);
            self.leave_listening();
            self.opt_out_not_answered();
            self.latency = Latency::default();
            self.reply.only_filled = false;
            self.reply.protected = false;
            self.phase = Phase::Speaking;
            self.say_all(&words, false);
            return true;
        }
        let Some(wanted) = self.commands.transfer.take() else {
            return false;
        };
        // The model wanted its own before it knew of this one.
        self.reply.transfer = None;
        self.hand_on(wanted);
        true
    }

    /// Carries out waiting commands before the user's last words are answered. Returns false if there are none.
    pub(super) fn commands_first(&mut self) -> bool {
        let first = self.phase == Phase::Listening && self.next_command();
        self.user.unanswered |= first;
        first
    }
}
