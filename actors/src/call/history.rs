//! What was said in a call, as the model sees it, and the numbered turns kept of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ports::{
    language_model::{HistoryItem, Speaker},
    store::TurnFact,
};

/// When something was said: milliseconds into the call, counted from the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub started_ms: i64,
    /// Its end.
    pub ended_ms: i64,
}

/// The history, the collected values, and the count of turns.
#[derive(Debug, Clone, Default)]
pub struct History {
    items: Vec<HistoryItem>,
    collected: BTreeMap<String, String>,
    turns: i64,
}

fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn add_user(items: &mut Vec<HistoryItem>, words: String, damaged: bool) {
    match items.last_mut() {
        Some(HistoryItem::Said {
            speaker: Speaker::User,
            text,
            damaged: was_damaged,
            ..
        }) => {
            if !text.is_empty() && !words.is_empty() {
                text.push(' ');
            }
            text.push_str(&words);
            *was_damaged |= damaged;
        }
        _ => items.push(HistoryItem::Said {
            speaker: Speaker::User,
            text: words,
            interrupted: false,
            damaged,
        }),
    }
}

impl History {
    /// The items, oldest first.
    pub fn items(&self) -> &[HistoryItem] {
        &self.items
    }

    /// Entity to value.
    pub fn collected(&self) -> &BTreeMap<String, String> {
        &self.collected
    }

    /// How many turns were kept.
    pub fn turns(&self) -> usize {
        usize::try_from(self.turns).unwrap_or(0)
    }

    /// The agent was heard to say this. None when nothing of it was heard.
    pub fn agent_said(&mut self, heard: &str, span: Span, interrupted: bool) -> Option<TurnFact> {
        let text = tidy(heard);
        if text.is_empty() {
            return None;
        }
        self.items.push(HistoryItem::Said {
            speaker: Speaker::Agent,
            text: text.clone(),
            interrupted,
            damaged: false,
        });
        Some(self.turn(Speaker::Agent, text, span, (interrupted, false)))
    }

    /// The user said this. Words that follow the user's own are one item for the model, and a turn of their own.
    pub fn user_said(&mut self, words: &str, span: Span, damaged: bool) -> TurnFact {
        let words = tidy(words);
        add_user(&mut self.items, words.clone(), damaged);
        self.turn(Speaker::User, words, span, (false, damaged))
    }

    /// The items as they would be if the user's turn ended with these words; nothing is kept.
    pub fn with_words(&self, words: &str) -> Vec<HistoryItem> {
        let mut items = self.items.clone();
        add_user(&mut items, tidy(words), false);
        items
    }

    /// The user was silent and the agent is to speak up.
    pub fn silence(&mut self) {
        self.items.push(HistoryItem::Silence);
    }

    /// The model called a tool.
    pub fn tool(&mut self, name: &str, arguments: Value, result: Value, echo: Option<Box<Value>>) {
        self.items.push(HistoryItem::Tool {
            name: name.to_owned(),
            arguments,
            result,
            echo,
        });
    }

    /// Keeps a collected value; the last one wins. False when the arguments are not `{ "entity", "value" }`.
    pub fn collect(&mut self, arguments: &Value) -> bool {
        let entity = arguments.get("entity").and_then(Value::as_str);
        let value = match arguments.get("value") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other @ (Value::Number(_) | Value::Bool(_))) => Some(other.to_string()),
            _ => None,
        };
        let (Some(entity), Some(value)) = (entity, value) else {
            return false;
        };
        self.collected.insert(entity.to_owned(), value);
        true
    }

    fn turn(&mut self, speaker: Speaker, text: String, span: Span, flags: (bool, bool)) -> TurnFact {
        let seq = self.turns;
        self.turns += 1;
        TurnFact {
            seq,
            speaker,
            text,
            started_ms: span.started_ms,
            ended_ms: span.ended_ms,
            interrupted: flags.0,
            damaged: flags.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPAN: Span = Span {
        started_ms: 1,
        ended_ms: 2,
    };

    #[test]
    fn words_of_the_user_in_a_row_are_one_item_and_two_turns() {
        let mut history = History::default();
        assert_eq!(history.user_said("my number", SPAN, false).seq, 0);
        assert_eq!(history.user_said(" is five ", SPAN, true).seq, 1);
        assert_eq!(
            history.items(),
            [HistoryItem::Said {
                speaker: Speaker::User,
                text: "my number is five".into(),
                interrupted: false,
                damaged: true
            }]
        );
    }

    #[test]
    fn what_nobody_heard_was_not_said() {
        let mut history = History::default();
        assert_eq!(history.agent_said("  ", SPAN, true), None);
        assert_eq!(history.turns(), 0);
    }

    #[test]
    fn the_last_collected_value_wins_and_odd_arguments_are_refused() {
        let mut history = History::default();
        assert!(history.collect(&json!({ "entity": "age", "value": 4 })));
        assert!(history.collect(&json!({ "entity": "age", "value": "5" })));
        assert!(!history.collect(&json!({ "entity": 1, "value": "x" })));
        assert!(!history.collect(&json!({ "entity": "name", "value": null })));
        assert_eq!(history.collected().get("age").map(String::as_str), Some("5"));
        assert_eq!(history.collected().len(), 1);
    }
}
