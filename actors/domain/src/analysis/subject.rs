//! Subject of an analysis: a finished call, its agent, and facts about it.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    agent::Agent,
    ports::store::{ConversationRow, ConversationStatus, TurnFact},
};

/// A finished call and its agent.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Agent in its present state.
    pub agent: &'a Arc<Agent>,
    /// Conversation of the call.
    pub row: &'a ConversationRow,
    /// Turns of the call in order.
    pub turns: &'a [TurnFact],
    /// Values of the placeholders.
    pub variables: &'a BTreeMap<String, String>,
    /// Whether another agent took the call over.
    pub handed_over: bool,
}

/// Facts about a call besides its turns.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisInput<'a> {
    /// Name of the agent.
    pub agent_name: &'a str,
    /// Collected values by entity name.
    pub collected: &'a BTreeMap<String, String>,
    /// Whether a person or a machine picked up.
    pub answered: bool,
    /// Whether a machine picked up.
    pub voicemail: bool,
    /// Whether the call was stopped before it was answered.
    pub cancelled: bool,
    /// Whether the call was transferred to a number.
    pub transferred: bool,
    /// Whether another agent took the call over.
    pub handed_over: bool,
    /// Reason of a failure, such as `busy`.
    pub error: Option<&'a str>,
}

impl<'a> AnalysisInput<'a> {
    /// Takes the facts from a conversation's row.
    pub fn of(row: &'a ConversationRow) -> Self {
        Self {
            agent_name: &row.agent_name,
            collected: &row.collected,
            answered: row.answered_at.is_some(),
            voicemail: row.voicemail,
            cancelled: matches!(row.status, ConversationStatus::Cancelled),
            transferred: row.transferred,
            handed_over: false,
            error: row.error.as_deref(),
        }
    }
}
