//! Agents of the suite: interviewers that differ in their questions and in how they take turns.

use serde::Deserialize;
use serde_json::{Value, json};

/// Settings of an agent; everything else has its default, with short timeouts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// Subjects that it asks for. The first question is part of its greeting.
    questions: Vec<String>,
    /// `turnEagerness`.
    pub eagerness: String,
    /// `spellingPatience`.
    patience: String,
    /// `disableFirstMessageInterruptions`: the greeting cannot be interrupted.
    pub protected: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            questions: Vec::new(),
            eagerness: "normal".into(),
            patience: "auto".into(),
            protected: false,
        }
    }
}

/// Returns the wording of a question.
fn text(question: &str) -> &'static str {
    match question {
        "day" => "Which day suits you for a visit?",
        "firstVisit" => "Is this your first visit?",
        "phoneNumber" => "What is your phone number?",
        "email" => "What is your e-mail address?",
        "code" => "What is your booking code?",
        _ => "What is the trouble with your teeth?",
    }
}

impl Setup {
    pub(super) fn agent(&self) -> Value {
        let first = self.questions.first().map_or("", |question| text(question));
        let entity = |question: &String| {
            let kind = if question == "firstVisit" { "boolean" } else { "string" };
            (question.clone(), json!({ "type": kind, "description": text(question) }))
        };
        let entities: serde_json::Map<String, Value> = self.questions.iter().map(entity).collect();
        json!({
            "name": "Ava",
            "conversationConfig": {
                "agent": {
                    "prompt": {
                        "prompt": "You are Ava from Greenfield Dental.",
                        "builtInTools": { "endCall": { "enabled": true } }
                    },
                    "greetingMessage": format!("Hello, this is Ava from Greenfield Dental. {first}"),
                    "disableFirstMessageInterruptions": self.protected
                },
                "turn": {
                    "turnEagerness": self.eagerness, "spellingPatience": self.patience,
                    "turnTimeout": 6, "silenceEndCallTimeout": 20
                },
                "conversation": { "maxDurationSeconds": 240 }
            },
            "platformSettings": {
                "dataCollection": { "entities": entities },
                "callActions": { "smartOptOut": true }
            }
        })
    }
}
