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
mod subject;
mod summary;
pub(crate) mod values;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::{
    agreed::is_agreed,
    answer::UnusableAnswer,
    kept::keep,
    sentiment::Mood,
    subject::{AnalysisInput, Subject},
};
use self::{
    answer::Found,
    evidence::{Line, Record, Sought},
    values::checked,
};
use crate::{
    agent::Entity,
    ports::{
        analyst::Question,
        language_model::Speaker,
        store::{AnalysedBy, Analysis, Evidence, EvidenceOfValues, TurnFact},
        usage::Meter,
    },
    schedule,
};

/// A collected value, and how good it is: confirmed, of its entity's type, and from the call itself.
struct Item {
    value: String,
    evidence: Option<Evidence>,
    rank: [bool; 3],
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
        self.with_values(self.found_by_rule(), Vec::new())
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
        let lines = self.turns.iter().map(Line::from);
        Record::of(lines, self.agent, schedule::local(began, zone).date())
    }

    /// Adds the values taken in the call and those found afterwards. A confirmed value wins, then one of its
    /// entity's type, then the call's own, then the later one.
    fn with_values(&self, analysis: Analysis, found: Vec<Found>) -> Analysis {
        let record = self.record();
        let entities = self.agent.platform_settings.data_collection.typed();
        let own = self.row.collected.iter().map(|(entity, value)| Found {
            entity: entity.clone(),
            value: value.clone(),
            quote: None,
        });
        let mut items: BTreeMap<String, Item> = BTreeMap::new();
        for found in own.chain(found) {
            let entity = entities.iter().find(|(known, _)| *known == found.entity);
            let is_typed =
                |(_, entity): &(String, Entity)| checked(entity, &Value::from(found.value.as_str())).is_some();
            let is_typed = entity.is_none_or(is_typed);
            let sought = Sought::of(&found.entity, entity.map(|(_, entity)| entity), &found.value);
            let evidence = record.evidence(sought, found.quote.as_deref());
            let item = Item {
                rank: [evidence.is_some() && is_typed, is_typed, found.quote.is_none()],
                value: found.value,
                evidence,
            };
            if items.get(&found.entity).is_none_or(|old| item.rank >= old.rank) {
                items.insert(found.entity, item);
            }
        }
        let evidence = items
            .iter()
            .filter_map(|(name, item)| Some((name.clone(), item.evidence.clone()?)))
            .collect();
        Analysis {
            evidence,
            collected: Some(items.into_iter().map(|(name, item)| (name, item.value)).collect()),
            ..analysis
        }
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
                values.retain(|name, _| analysis.evidence.contains_key(name));
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
