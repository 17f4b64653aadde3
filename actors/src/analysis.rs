//! What a call was like, found by rules: summary, sentiment, key moments. Deterministic; everything it says stands in
//! the turns or in the row.

mod moments;
mod sentiment;
mod summary;

use std::collections::BTreeMap;

use crate::ports::store::{Analysis, ConversationRow, ConversationStatus, TurnFact};

/// What is known of a call besides its turns.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisInput<'a> {
    /// The agent's name.
    pub agent_name: &'a str,
    /// Entity to value.
    pub collected: &'a BTreeMap<String, String>,
    /// Whether anybody, or a machine, picked up.
    pub answered: bool,
    /// A machine picked up.
    pub voicemail: bool,
    /// Stopped before it was answered.
    pub cancelled: bool,
    /// Handed on.
    pub transferred: bool,
    /// Why it failed, such as `busy`.
    pub error: Option<&'a str>,
}

impl<'a> AnalysisInput<'a> {
    /// What a conversation's row says.
    pub fn of(row: &'a ConversationRow) -> Self {
        Self {
            agent_name: &row.agent_name,
            collected: &row.collected,
            answered: row.answered_at.is_some(),
            voicemail: row.voicemail,
            cancelled: matches!(row.status, ConversationStatus::Cancelled),
            transferred: row.transferred,
            error: row.error.as_deref(),
        }
    }
}

/// Analyses a finished call; `turns` in their order.
pub fn analyse(turns: &[TurnFact], input: AnalysisInput<'_>) -> Analysis {
    let scores: Vec<f64> = turns.iter().map(|turn| sentiment::score(&turn.text)).collect();
    let key_moments = if input.voicemail {
        Vec::new()
    } else {
        moments::find(turns, &scores, input.collected)
    };
    Analysis {
        summary: summary::write(turns, &key_moments, input),
        sentiment: sentiment::of(turns, &scores, input.voicemail),
        key_moments,
    }
}

#[cfg(test)]
mod tests;
