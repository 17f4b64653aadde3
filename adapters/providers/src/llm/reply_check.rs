//! Whether what a model streams makes a reply: words, or a call of a tool that there is. Of anything else nobody would
//! hear a sound.

use std::collections::VecDeque;

use domain::{
    ports::language_model::{HistoryItem, ReplyEvent, Speaker},
    prompt::Prompt,
};

use crate::failure::Failure;

/// Whether something of a reply may stand alone. `skipTurn` does: that is what it is for.
pub(super) fn stands(event: &ReplyEvent, prompt: &Prompt) -> bool {
    match event {
        ReplyEvent::Text(text) => text.chars().any(char::is_alphanumeric),
        // Arguments that could not be read are no object.
        ReplyEvent::Tool { name, arguments, .. } => {
            arguments.is_object() && prompt.tools.iter().any(|tool| tool.name == *name)
        }
    }
}

/// Whether a reply of which nothing stands is still given out: one that only calls tools that there are not, so that the
/// model is told, which it is once in a turn.
pub(super) fn left_over(held: &VecDeque<ReplyEvent>, history: &[HistoryItem]) -> Result<(), Failure> {
    if !held.iter().any(|event| matches!(event, ReplyEvent::Tool { .. })) {
        return Err(Failure::protocol("it answered without a word"));
    }
    let turn = history.iter().rev().take_while(|item| !is_users(item));
    let told = |item: &HistoryItem| matches!(item, HistoryItem::Tool { result, .. } if result.get("error").is_some());
    match turn.into_iter().any(told) {
        true => Err(Failure::protocol(
            "it only calls tools that there are not, and was told",
        )),
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
