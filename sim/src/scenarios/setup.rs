//! The agents of the suite: interviewers that differ in what they ask and in how they take turns.

use serde_json::{Value, json};

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// A day; its greeting asks for it already.
    Day,
    /// Yes or no.
    FirstVisit,
    /// A telephone number.
    Phone,
    /// A mail address.
    Email,
    /// Letters and digits.
    Code,
    /// Anything at length.
    Trouble,
}

impl Question {
    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::FirstVisit => "firstVisit",
            Self::Phone => "phoneNumber",
            Self::Email => "email",
            Self::Code => "code",
            Self::Trouble => "trouble",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Day => "Which day suits you for a visit?",
            Self::FirstVisit => "Is this your first visit?",
            Self::Phone => "What is your phone number?",
            Self::Email => "What is your e-mail address?",
            Self::Code => "What is your booking code?",
            Self::Trouble => "What is the trouble with your teeth?",
        }
    }

    fn entity(self) -> Value {
        let kind = if self == Self::FirstVisit { "boolean" } else { "string" };
        json!({ "type": kind, "description": self.text() })
    }
}

/// How an agent is set. The first question is part of its greeting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    pub(super) questions: &'static [Question],
    pub(super) eagerness: &'static str,
    pub(super) patience: &'static str,
    /// `disableFirstMessageInterruptions`.
    pub(super) protected: bool,
    pub(super) turn_timeout_s: u32,
    pub(super) silence_end_s: u32,
    pub(super) opt_out: bool,
}

impl Setup {
    /// An agent that asks these questions and is otherwise as agents are by default, with short time-outs.
    pub(super) fn asking(questions: &'static [Question]) -> Self {
        Self {
            questions,
            eagerness: "normal",
            patience: "auto",
            protected: false,
            turn_timeout_s: 6,
            silence_end_s: 20,
            opt_out: true,
        }
    }

    /// Asks for a day.
    pub(super) fn day() -> Self {
        Self::asking(&[Question::Day])
    }

    /// Asks for a day and whether it is the first visit.
    pub(super) fn two() -> Self {
        Self::asking(&[Question::Day, Question::FirstVisit])
    }

    pub(super) fn eager(self) -> Self {
        Self {
            eagerness: "eager",
            ..self
        }
    }

    pub(super) fn patient(self) -> Self {
        Self {
            eagerness: "patient",
            ..self
        }
    }

    pub(super) fn protected(self) -> Self {
        Self {
            protected: true,
            ..self
        }
    }

    pub(super) fn impatient_with_spelling(self) -> Self {
        Self {
            patience: "off",
            ..self
        }
    }

    /// `turnEagerness`.
    pub fn eagerness(&self) -> &'static str {
        self.eagerness
    }

    /// Whether the greeting cannot be interrupted.
    pub fn is_protected(&self) -> bool {
        self.protected
    }

    pub(super) fn agent(&self) -> Value {
        let first = self.questions.first().map_or("", |question| question.text());
        let entities: serde_json::Map<String, Value> = self
            .questions
            .iter()
            .map(|question| (question.name().to_owned(), question.entity()))
            .collect();
        json!({
            "name": "Ava",
            "conversationConfig": {
                "agent": {
                    "prompt": { "prompt": "You are Ava from Greenfield Dental." },
                    "greetingMessage": format!("Hello, this is Ava from Greenfield Dental. {first}"),
                    "disableFirstMessageInterruptions": self.protected
                },
                "turn": {
                    "turnEagerness": self.eagerness, "spellingPatience": self.patience,
                    "turnTimeout": self.turn_timeout_s, "silenceEndCallTimeout": self.silence_end_s
                },
                "conversation": { "maxDurationSeconds": 240 }
            },
            "platformSettings": {
                "dataCollection": { "entities": entities },
                "callActions": { "smartOptOut": self.opt_out }
            }
        })
    }
}
