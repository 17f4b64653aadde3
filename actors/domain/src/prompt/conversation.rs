//! Converts a call's history into the messages of a model.

use serde_json::{Value, json};

use super::{
    message::{Message, ToolCall, ToolResult},
    notes,
};
use crate::ports::language_model::{HistoryItem, Speaker};

/// Messages created so far.
#[derive(Default)]
struct Conversation {
    messages: Vec<Message>,
    calls: usize,
    /// Whether the agent was interrupted, which the user's next message reports.
    cut_short: bool,
}

/// Returns the messages of a history. Roles alternate, and the last message is not the agent's.
pub(super) fn messages(history: &[HistoryItem]) -> Vec<Message> {
    let mut conversation = Conversation::default();
    conversation.user(notes::CONNECTED);
    for item in history {
        conversation.take(item);
    }
    if matches!(conversation.messages.last(), Some(Message::Agent { .. })) {
        conversation.user(notes::YOUR_TURN);
    }
    conversation.messages
}

impl Conversation {
    fn take(&mut self, item: &HistoryItem) {
        match item {
            HistoryItem::Said {
                speaker: Speaker::User,
                text,
                damaged,
                ..
            } => {
                if !text.trim().is_empty() {
                    self.user(&without_brackets(text));
                }
                if *damaged {
                    self.user(notes::DAMAGED);
                }
            }
            HistoryItem::Said {
                speaker: Speaker::Agent,
                text,
                interrupted,
                ..
            } => self.agent(text, *interrupted),
            HistoryItem::Said {
                speaker: Speaker::Operator,
                text,
                ..
            } => self.user(&format!("{}{}]", notes::OPERATOR, without_brackets(text))),
            HistoryItem::Tool {
                name,
                arguments,
                result,
                echo,
            } => self.tool(name, arguments, result, echo.as_deref()),
            HistoryItem::Silence => self.user(notes::SILENCE),
        }
    }

    fn user(&mut self, line: &str) {
        if std::mem::take(&mut self.cut_short) {
            self.user_line(notes::INTERRUPTED);
        }
        self.user_line(line);
    }

    fn user_line(&mut self, line: &str) {
        if let Some(Message::User(text)) = self.messages.last_mut() {
            text.push('\n');
            text.push_str(line);
        } else {
            self.messages.push(Message::User(line.to_owned()));
        }
    }

    fn agent(&mut self, words: &str, interrupted: bool) {
        self.cut_short = interrupted;
        match self.messages.last_mut() {
            Some(Message::Agent { text, .. }) => {
                text.push(' ');
                text.push_str(words);
            }
            _ => self.messages.push(Message::Agent {
                text: words.to_owned(),
                calls: Vec::new(),
            }),
        }
    }

    fn tool(&mut self, name: &str, arguments: &Value, result: &Value, echo: Option<&Value>) {
        self.calls += 1;
        let call = ToolCall {
            id: format!("call_{}", self.calls),
            name: name.to_owned(),
            // Providers accept only objects, so replace anything else that the model returned.
            arguments: if arguments.is_object() {
                arguments.clone()
            } else {
                json!({})
            },
            echo: echo.cloned(),
        };
        let result = ToolResult {
            id: call.id.clone(),
            result: result.clone(),
        };
        match self.messages.as_mut_slice() {
            // Consecutive calls belong to one message, with the words before them.
            [.., Message::Agent { calls, .. }, Message::Results(results)] => {
                calls.push(call);
                results.push(result);
            }
            [.., Message::Agent { calls, .. }] => {
                calls.push(call);
                self.messages.push(Message::Results(vec![result]));
            }
            _ => {
                self.messages.push(Message::Agent {
                    text: String::new(),
                    calls: vec![call],
                });
                self.messages.push(Message::Results(vec![result]));
            }
        }
    }
}

/// Replaces brackets, so that nothing a person says looks like a note from the line.
pub(super) fn without_brackets(text: &str) -> String {
    text.replace('[', "(").replace(']', ")").replace('\n', " ")
}
