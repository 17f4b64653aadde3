//! The search query of a call: the user's last words, and some of the words before them.

use crate::history::{HistoryItem, Speaker};

/// Characters of the user's last words that are searched for, counted from their end.
const WORDS_CHARACTERS: usize = 600;

/// Characters of each text of the context, counted from its end.
const CONTEXT_CHARACTERS: usize = 300;

/// A search query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// The user's last words.
    pub words: String,
    /// Words of the agent before them, and of the user before that; they have a small weight.
    pub context: String,
}

impl Question {
    /// Creates a query from words alone.
    pub fn of_words(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            context: String::new(),
        }
    }

    /// Creates the query of a call; none while the user has said nothing.
    pub fn of(history: &[HistoryItem]) -> Option<Self> {
        let mut said = history.iter().rev().filter_map(|item| match item {
            HistoryItem::Said { speaker, text, .. } if !text.trim().is_empty() => Some((*speaker, text.as_str())),
            HistoryItem::Said { .. } | HistoryItem::Tool { .. } | HistoryItem::Silence => None,
        });
        // A reply after a tool call or after silence is still about the previous words.
        let words = said.by_ref().find(|(speaker, _)| *speaker == Speaker::User)?.1;
        let before: Vec<&str> = said.take(2).map(|(_, text)| text).collect();
        Some(Self {
            words: end(words, WORDS_CHARACTERS).to_owned(),
            context: before
                .into_iter()
                .rev()
                .map(|text| end(text, CONTEXT_CHARACTERS))
                .collect::<Vec<_>>()
                .join("\n"),
        })
    }
}

/// Returns the last characters of a text.
fn end(text: &str, characters: usize) -> &str {
    let start = text
        .char_indices()
        .rev()
        .nth(characters)
        .map_or(0, |(at, c)| at + c.len_utf8());
    text.get(start..).unwrap_or(text)
}
