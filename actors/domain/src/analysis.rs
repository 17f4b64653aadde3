//! Analysis of a call: summary, sentiment, key moments, values, issues. The rules are deterministic and state
//! only what the turns or the row contain. A model's answer is checked against the turns.

mod agreed;
mod answer;
mod evidence;
mod issues;
mod kept;
mod moments;
mod question;
mod sentiment;
mod summary;
pub(crate) mod values;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

pub use self::{agreed::is_agreed, answer::UnusableAnswer, kept::keep, sentiment::Mood};
use self::{
    answer::Found,
    evidence::{Record, Sought},
};
use crate::{
    agent::{Agent, Entity},
    ports::{
        analyst::Question,
        language_model::Speaker,
        store::{AnalysedBy, Analysis, ConversationRow, ConversationStatus, Evidence, EvidenceOfValues, TurnFact},
        usage::Meter,
    },
    schedule,
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

impl Subject<'_> {
    /// Returns whether the user said anything. Only then could a model find more than the rules do.
    pub fn is_worth_asking(&self) -> bool {
        let of_user = |turn: &TurnFact| turn.speaker == Speaker::User && !turn.text.trim().is_empty();
        !self.row.voicemail && self.turns.iter().any(of_user)
    }

    fn tracks_issues(&self) -> bool {
        self.row.tracks_issues(Some(self.agent))
    }

    /// Returns the analysis by the rules.
    pub fn by_rule(&self) -> Analysis {
        let (collected, evidence) = self.items(&[]);
        Analysis {
            collected: Some(collected),
            evidence,
            ..self.found_by_rule()
        }
    }

    fn found_by_rule(&self) -> Analysis {
        let input = AnalysisInput {
            handed_over: self.handed_over,
            ..AnalysisInput::of(self.row)
        };
        analyse(self.turns, input)
    }

    /// Returns the turns as evidence for values.
    fn record(&self) -> Record<'_> {
        let zone = &self.agent.conversation_config.agent.prompt.timezone;
        let zone = zone.parse().unwrap_or(chrono_tz::Tz::UTC);
        let began = self.row.answered_at.unwrap_or(self.row.started_at);
        Record::of(self.turns, self.agent, schedule::local(began, zone).date())
    }

    /// Merges the values taken in the call with those found afterwards. A confirmed value wins, then one of its
    /// entity's type, then the call's own, then the later one.
    fn items(&self, found: &[Found]) -> (BTreeMap<String, String>, EvidenceOfValues) {
        let record = self.record();
        let entities = self.agent.platform_settings.data_collection.typed();
        let any = Entity::default();
        let of = |name: &str| {
            entities
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, entity)| entity)
        };
        let is_typed = |name: &str, value: &str| {
            of(name).is_none_or(|entity| values::checked(entity, &Value::from(value)).is_some())
        };
        let mut items: BTreeMap<String, (bool, bool, bool, String, Option<Evidence>)> = BTreeMap::new();
        let own = self.row.collected.iter().map(|(name, value)| (name, value, None));
        let found = found
            .iter()
            .map(|found| (&found.entity, &found.value, Some(found.quote.as_str())));
        for (name, value, quote) in own.chain(found) {
            let (entity, value) = (of(name).unwrap_or(&any), value.as_str());
            let evidence = record.evidence(Sought { name, entity, value }, quote);
            let typed = is_typed(name, value);
            let rank = (evidence.is_some() && typed, typed, quote.is_none());
            let old = items.get(name);
            if old.is_none_or(|old| rank >= (old.0, old.1, old.2)) {
                items.insert(name.clone(), (rank.0, rank.1, rank.2, value.to_owned(), evidence));
            }
        }
        let items = items.into_iter();
        items
            .map(|(name, (.., value, evidence))| ((name.clone(), value), (name, evidence)))
            .unzip()
    }

    /// Returns the question for an analyst.
    pub fn question(&self, meter: Meter) -> Question {
        Question {
            agent: self.agent.clone(),
            instructions: question::instructions(self),
            record: question::record(self.turns),
            schema: question::schema(self),
            meter,
        }
    }

    /// Reads the analyst's answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer does not have the requested shape.
    pub fn read(&self, answer: &Value) -> Result<Analysis, UnusableAnswer> {
        answer::read(answer, self)
    }

    /// Returns the values to save on the number's contact if the agent stores values: those collected in the
    /// call or afterwards that are confirmed and have the type of their entity.
    pub fn for_contact(&self, analysis: &Analysis) -> BTreeMap<String, Value> {
        let collection = &self.agent.platform_settings.data_collection;
        match collection.store_data {
            true => {
                let mut values = kept::typed(
                    analysis.collected.as_ref().unwrap_or(&self.row.collected),
                    &collection.typed(),
                );
                values.retain(|name, _| matches!(analysis.evidence.get(name), Some(Some(_))));
                values
            }
            false => BTreeMap::new(),
        }
    }

    /// Returns the milliseconds from the answer to the end.
    fn duration_ms(&self) -> Option<i64> {
        let ended = self.row.ended_at?.since(self.row.answered_at?);
        i64::try_from(ended.as_millis()).ok()
    }
}

/// Returns the issues that the rules find.
fn issues_by_rule(subject: &Subject<'_>) -> Vec<String> {
    subject.found_by_rule().issues
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

/// Analyses a finished call by the rules. `turns` are in order.
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
        evidence: EvidenceOfValues::new(),
        contact: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests;
