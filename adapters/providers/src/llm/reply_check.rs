//! Check whether a model's stream makes a reply: words, or a call of an existing tool. Anything else would be
//! silence to the caller.

use std::collections::VecDeque;

use domain::{
    ports::language_model::{HistoryItem, ReplyEvent, Speaker},
    prompt::Prompt,
};

use crate::failure::Failure;

/// Returns whether a part of a reply may stand alone. `skipTurn` may, since silence is its purpose.
pub(super) fn stands(event: &ReplyEvent, prompt: &Prompt) -> bool {
    match event {
        ReplyEvent::Text(text) => text.chars().any(char::is_alphanumeric),
        // Arguments that could not be parsed are not an object.
        ReplyEvent::Tool { name, arguments, .. } => {
            arguments.is_object() && prompt.tools.iter().any(|tool| tool.name == *name)
        }
    }
}

/// Checks a reply that has no valid part. If it calls only unknown tools, it is given out once per turn, so
/// that the model receives the error.
pub(super) fn left_over(held: &VecDeque<ReplyEvent>, history: &[HistoryItem]) -> Result<(), Failure> {
    if !held.iter().any(|event| matches!(event, ReplyEvent::Tool { .. })) {
        return Err(Failure::protocol("empty answer"));
    }
    let turn = history.iter().rev().take_while(|item| !is_users(item));
    let told = |item: &HistoryItem| matches!(item, HistoryItem::Tool { result, .. } if result.get("error").is_some());
    match turn.into_iter().any(told) {
        true => Err(Failure::protocol("calls only unknown tools, even after the error")),
        false => Ok(()),
    }
}

fn is_users(item: &HistoryItem) -> bool {
    match item {
        HistoryItem::Said { speaker, .. } => *speaker == Speaker::User,
        HistoryItem::Silence => true,
        HistoryItem::Tool { .. } => false,
    }
}
