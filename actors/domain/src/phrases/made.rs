//! Sentences that a language model makes once, for a language without built-in ones.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{ENGLISH, Phrases};
use crate::{
    agent::Agent,
    pieces::{has_words, spoken},
    ports::{analyst::Question, usage::Meter},
    prompt::language_in_words,
};

/// Sentences that are asked for. The question about an opt-out stays English, since it must be known again
/// by its words.
pub(super) const ASKED: [&str; 9] = [
    "pardon",
    "broken",
    "time_is_up",
    "handing_on",
    "nobody_there",
    "cut_off",
    "lost_you",
    "back_with_you",
    "opted_out",
];

/// Longest sentence that is accepted, in characters.
const LONGEST: usize = 200;
/// Most fillers that are accepted.
const MOST_FILLERS: usize = 3;

impl Phrases {
    /// Returns the question for the sentences in the language of an agent.
    pub fn question(agent: &Arc<Agent>, meter: Meter) -> Question {
        let language = language_in_words(&agent.conversation_config.agent.primary_language);
        let mut english = ENGLISH;
        let mut lines = vec![json!({ "name": "fillers", "english": english.fillers }).to_string()];
        let mut properties = json!({ "fillers": { "type": "array", "items": { "type": "string" } } });
        for name in ASKED {
            let text = english.sentence(name).map(|text| *text);
            lines.push(json!({ "name": name, "english": text }).to_string());
            properties[name] = json!({ "type": "string" });
        }
        let required: Vec<&str> = ASKED.into_iter().chain(["fillers"]).collect();
        Question {
            agent: agent.clone(),
            instructions: format!(
                "The record holds sentences that an agent says on the telephone. Say each of them in {language}, as a \
                 polite native speaker would on the phone, to a stranger. Keep the meaning and be as brief. Use no \
                 words that tell whether the agent or the other person is a man or a woman. Write no markup and no \
                 explanations."
            ),
            record: lines.join("\n"),
            schema: json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            }),
            meter,
        }
    }

    /// Reads the sentences in the answer. They stay in memory until the process ends. Returns `None` if one is
    /// missing, too long or still English.
    pub fn made(answer: &Value) -> Option<Self> {
        let answer = answer.as_object()?;
        let fillers = answer.get("fillers")?.as_array()?.iter().take(MOST_FILLERS);
        let fillers: Vec<String> = fillers.map(sentence).collect::<Option<_>>()?;
        let texts = ASKED.map(|name| named(answer, name));
        if texts.iter().any(Option::is_none) {
            return None;
        }
        let mut made = Self {
            fillers: fillers.into_iter().map(kept).collect::<Vec<_>>().leak(),
            ..ENGLISH
        };
        for (name, text) in ASKED.into_iter().zip(texts) {
            *made.sentence(name)? = kept(text?);
        }
        Some(made)
    }
}

fn named(answer: &Map<String, Value>, name: &str) -> Option<String> {
    let text = sentence(answer.get(name)?)?;
    let mut english = ENGLISH;
    (Some(text.as_str()) != english.sentence(name).map(|text| *text)).then_some(text)
}

fn sentence(value: &Value) -> Option<String> {
    let text = spoken(value.as_str()?);
    (has_words(&text) && text.chars().count() <= LONGEST).then_some(text)
}

fn kept(text: String) -> &'static str {
    text.leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swahili() -> Value {
        let mut answer = json!({ "fillers": ["Subiri kidogo.", "Sekunde moja."] });
        for name in ASKED {
            answer[name] = json!(format!("Samahani, **{name}**."));
        }
        answer
    }

    #[test]
    fn the_answer_to_the_question_is_read_as_it_is_spoken() {
        let agent = json!({ "conversationConfig": { "agent": { "primaryLanguage": "sw-KE" } } });
        let agent: Arc<Agent> = Arc::new(serde_json::from_value(agent).unwrap());
        let question = Phrases::question(&agent, Meter::default());
        assert!(question.instructions.contains("`sw-KE`"), "{}", question.instructions);
        assert!(question.record.contains("I'll put you through."), "{}", question.record);
        let answer = swahili();
        for name in question.schema["required"].as_array().unwrap() {
            assert!(answer.get(name.as_str().unwrap()).is_some(), "{name}");
        }
        let made = Phrases::made(&answer).unwrap();
        assert_eq!(made.fillers, ["Subiri kidogo.", "Sekunde moja."]);
        assert_eq!(made.broken, "Samahani, broken.");
        assert_eq!(made.opt_out_meant, ENGLISH.opt_out_meant);
    }

    #[test]
    fn an_answer_with_an_unusable_sentence_is_not_taken() {
        assert!(Phrases::made(&swahili()).is_some());
        for (name, value) in [
            ("pardon", json!("  ")),
            ("pardon", json!(ENGLISH.pardon)),
            ("broken", json!("a".repeat(LONGEST + 1))),
            ("cut_off", json!(["Samahani."])),
            ("fillers", json!("Subiri.")),
            ("fillers", json!([1])),
        ] {
            let mut answer = swahili();
            answer[name] = value;
            assert_eq!(Phrases::made(&answer), None, "{answer}");
        }
        assert_eq!(Phrases::made(&json!([])), None);
    }
}
