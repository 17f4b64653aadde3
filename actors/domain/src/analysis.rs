//! What a call was like: summary, sentiment, key moments, values, issues. By rules, which are deterministic and say
//! nothing but what stands in the turns or in the row; or of a model's answer, checked against them.

mod answer;
mod issues;
mod kept;
mod moments;
mod question;
mod sentiment;
mod summary;
mod values;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

pub use self::{answer::UnusableAnswer, kept::keep};
use crate::{
    agent::{Agent, Entities},
    ports::{
        analyst::Question,
        language_model::Speaker,
        store::{AnalysedBy, Analysis, ConversationRow, ConversationStatus, TurnFact},
        usage::Meter,
    },
};

/// A call that is over, and whose it was.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The agent, as it is now.
    pub agent: &'a Arc<Agent>,
    /// The conversation.
    pub row: &'a ConversationRow,
    /// Its turns in order.
    pub turns: &'a [TurnFact],
    /// Another agent took the call over.
    pub handed_over: bool,
}

impl Subject<'_> {
    /// Whether somebody said something that a model could find more in than the rules do.
    pub fn is_worth_asking(&self) -> bool {
        let of_user = |turn: &TurnFact| turn.speaker == Speaker::User && !turn.text.trim().is_empty();
        !self.row.voicemail && self.turns.iter().any(of_user)
    }

    /// What the rules find.
    pub fn by_rule(&self) -> Analysis {
        let input = AnalysisInput {
            handed_over: self.handed_over,
            ..AnalysisInput::of(self.row)
        };
        analyse(self.turns, input)
    }

    /// What to ask an analyst.
    pub fn question(&self, meter: Meter) -> Question {
        Question {
            agent: self.agent.clone(),
            instructions: question::instructions(self),
            transcript: question::transcript(self.turns),
            schema: question::schema(self),
            meter,
        }
    }

    /// What the answer comes to.
    ///
    /// # Errors
    ///
    /// What is wrong with it, when it is not of the shape that was asked for.
    pub fn read(&self, answer: &Value) -> Result<Analysis, UnusableAnswer> {
        answer::read(answer, self)
    }

    /// What goes onto the saved contact of the number, when the agent keeps values: what was collected, in the call or
    /// afterwards, and is what its entity wants.
    pub fn for_contact(&self, analysis: &Analysis) -> BTreeMap<String, Value> {
        let collection = &self.agent.platform_settings.data_collection;
        match collection.store_data {
            true => kept::typed(
                analysis.collected.as_ref().unwrap_or(&self.row.collected),
                &collection.typed(),
            ),
            false => BTreeMap::new(),
        }
    }

    /// Milliseconds from the answer to the end.
    fn duration_ms(&self) -> Option<i64> {
        let ended = self.row.ended_at?.since(self.row.answered_at?);
        i64::try_from(ended.as_millis()).ok()
    }
}

/// The values of the call, which the person heard taken down, before those found afterwards; but for one that is not
/// what its entity wants, when another is.
fn merged(
    of_call: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
    entities: &Entities,
) -> BTreeMap<String, String> {
    let stands = |name: &String, value: &str| {
        let entity = entities
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, entity)| entity);
        entity.is_none_or(|entity| values::checked(entity, &Value::from(value)).is_some())
    };
    let mut merged = found.clone();
    for (name, value) in of_call {
        if stands(name, value) || !found.contains_key(name) {
            merged.insert(name.clone(), value.clone());
        }
    }
    merged
}

/// The issues that the rules find.
fn issues_by_rule(subject: &Subject<'_>) -> Vec<String> {
    subject.by_rule().issues
}

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
    /// Handed on to a number.
    pub transferred: bool,
    /// Taken over by another agent.
    pub handed_over: bool,
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
            handed_over: false,
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
    let issues = match input.voicemail {
        true => Vec::new(),
        false => issues::find(turns, &key_moments, input.transferred || input.handed_over),
    };
    Analysis {
        summary: summary::write(turns, &key_moments, input),
        sentiment: sentiment::of(turns, &scores, input.voicemail),
        key_moments,
        appointment: Map::new(),
        issues,
        by: AnalysedBy::Rules,
        collected: None,
        contact: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests;
