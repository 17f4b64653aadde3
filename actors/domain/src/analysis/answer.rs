//! Reading of a model's answer about a call. Only claims that the call supports are kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    evidence::Sought,
    moments,
    sentiment::{label, rounded},
    subject::Subject,
    values::{checked, in_words},
};
use crate::{
    interviewer::phrases::{contains, plain},
    ports::store::{AnalysedBy, Analysis, EvidenceOfValues, KeyMoment, Sentiment, TurnFact, TurnSentiment},
    spoken::time::Written,
};

/// Maximum characters of a summary, of a label, and of an issue or a description.
const MOST_SUMMARY: usize = 4_000;
const MOST_LABEL: usize = 60;
const MOST_SENTENCE: usize = 300;

/// Maximum number of items in each list.
const MOST_ITEMS: usize = 20;

/// Reason why an answer does not have the requested shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableAnswer {
    /// Summary missing or too long.
    #[error("`summary` must be a text of 1 to {MOST_SUMMARY} characters")]
    Summary,
    /// Sentiment missing or out of range.
    #[error("`sentiment` must be a number from -1 to 1")]
    Sentiment,
    /// Missing list, by name.
    #[error("`{0}` must be a list")]
    List(&'static str),
    /// Appointment without a description.
    #[error("`appointment` must be null or have a `description`")]
    Appointment,
}

/// Reads an answer.
///
/// # Errors
///
/// Returns an error if the answer does not have the requested shape. A single moment, mood or value that the
/// call does not support is left out instead.
pub(super) fn read(answer: &Value, subject: &Subject<'_>) -> Result<Analysis, UnusableAnswer> {
    let summary = answer["summary"].as_str().map(one_line).unwrap_or_default();
    if summary.is_empty() || summary.chars().count() > MOST_SUMMARY {
        return Err(UnusableAnswer::Summary);
    }
    let overall = answer["sentiment"]
        .as_f64()
        .filter(|score| (-1.0..=1.0).contains(score));
    let overall = rounded(overall.ok_or(UnusableAnswer::Sentiment)?);
    let entities = subject.agent.platform_settings.data_collection.typed();
    let found = match entities.is_empty() {
        true => Vec::new(),
        false => data(list(answer, "data")?, subject),
    };
    let mut issues = subject.found_by_rule().issues;
    if subject.tracks_issues() {
        // The model describes the issues in its own words.
        issues = texts(list(answer, "issues")?);
    }
    let analysis = Analysis {
        summary,
        sentiment: Sentiment {
            sentiment_score: overall,
            sentiment_by_turn: by_turn(list(answer, "moods")?, subject.turns),
            sentiment_overall: label(overall),
        },
        key_moments: key_moments(list(answer, "moments")?, subject),
        appointment: appointment(&answer["appointment"], subject)?,
        issues,
        by: AnalysedBy::Model,
        collected: None,
        evidence: EvidenceOfValues::new(),
        contact: BTreeMap::new(),
    };
    Ok(subject.with_values(analysis, found))
}

fn list<'a>(answer: &'a Value, name: &'static str) -> Result<&'a [Value], UnusableAnswer> {
    let list = answer[name].as_array().map(Vec::as_slice);
    list.ok_or(UnusableAnswer::List(name))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, chars: usize) -> String {
    one_line(text).chars().take(chars).collect()
}

fn texts(list: &[Value]) -> Vec<String> {
    let texts = list
        .iter()
        .filter_map(Value::as_str)
        .map(|text| cut(text, MOST_SENTENCE));
    texts.filter(|text| !text.is_empty()).take(MOST_ITEMS).collect()
}

/// Returns the turn that an item names by its line number.
fn turn_of<'a>(item: &Value, turns: &'a [TurnFact]) -> Option<&'a TurnFact> {
    let line = usize::try_from(item["line"].as_u64()?).ok()?;
    turns.get(line.checked_sub(1)?)
}

fn by_turn(moods: &[Value], turns: &[TurnFact]) -> Vec<TurnSentiment> {
    let score_of = |line: usize| {
        let its = moods.iter().find(|mood| mood["line"].as_u64() == Some(line as u64));
        let score = its.and_then(|mood| mood["score"].as_f64());
        score.filter(|score| (-1.0..=1.0).contains(score)).map_or(0.0, rounded)
    };
    let turns = turns.iter().enumerate().map(|(at, turn)| {
        let score = score_of(at + 1);
        TurnSentiment {
            text: turn.text.clone(),
            sentiment_label: label(score),
            speaker: turn.speaker,
            sentiment_score: score,
        }
    });
    turns.collect()
}

/// Reads the key moments. Their words, speaker and time come from the call's own turns.
fn key_moments(found: &[Value], subject: &Subject<'_>) -> Vec<KeyMoment> {
    let last_ms = subject.duration_ms();
    let mut moments: Vec<(i64, KeyMoment)> = Vec::new();
    for item in found {
        let label = item["label"]
            .as_str()
            .map(|text| cut(text, MOST_LABEL))
            .unwrap_or_default();
        let Some(turn) = turn_of(item, subject.turns).filter(|_| !label.is_empty()) else {
            continue;
        };
        let known = moments
            .iter()
            .any(|(seq, moment)| *seq == turn.seq && moment.label == label);
        if !known && moments.len() < MOST_ITEMS {
            let started_ms = last_ms.map_or(turn.started_ms, |last| turn.started_ms.min(last));
            let moment = KeyMoment {
                text: turn.text.clone(),
                label,
                speaker: turn.speaker,
                timestamp: moments::timestamp(started_ms),
            };
            moments.push((turn.seq, moment));
        }
    }
    moments.sort_by_key(|(seq, _)| *seq);
    moments.into_iter().map(|(_, moment)| moment).collect()
}

/// Returns whether the quote was said in one turn.
fn was_said(quote: &Value, turns: &[TurnFact]) -> bool {
    let quote = plain(quote.as_str().unwrap_or_default());
    let mut turns = turns.iter();
    !quote.is_empty() && turns.any(|turn| contains(&plain(&turn.text), &quote))
}

/// A value that was found in a call, and the quote on which a model based it.
pub(super) struct Found {
    pub entity: String,
    pub value: String,
    pub quote: Option<String>,
}

/// Returns the values found, in the type of their entity.
fn data(found: &[Value], subject: &Subject<'_>) -> Vec<Found> {
    let entities = subject.agent.platform_settings.data_collection.typed();
    let values = found.iter().filter_map(|item| {
        let (name, entity) = entities.iter().find(|(name, _)| item["entity"] == name.as_str())?;
        Some(Found {
            entity: name.clone(),
            value: in_words(&checked(entity, &item["value"])?),
            quote: Some(item["quote"].as_str().unwrap_or_default().to_owned()),
        })
    });
    values.collect()
}

/// Reads `appointmentScheduled`: `description`, and `dateTime` and `timezone` if the time is certain and confirmed.
fn appointment(found: &Value, subject: &Subject<'_>) -> Result<Map<String, Value>, UnusableAnswer> {
    let mut shown = Map::new();
    if found.is_null() {
        return Ok(shown);
    }
    let Some(description) = found["description"].as_str() else {
        return Err(UnusableAnswer::Appointment);
    };
    if !was_said(&found["quote"], subject.turns) {
        return Ok(shown);
    }
    let time = found["dateTime"].as_str().unwrap_or_default();
    let time = Written::of(time).local();
    let value = time.map(|time| time.format("%Y-%m-%dT%H:%M").to_string());
    let is_confirmed = |value: &String| subject.record().evidence(Sought::text(value), None).is_some();
    if let Some(time) = value.filter(is_confirmed) {
        let zone = &subject.agent.conversation_config.agent.prompt.timezone;
        shown.insert("dateTime".into(), time.into());
        shown.insert("timezone".into(), zone.as_str().into());
    }
    shown.insert("description".into(), cut(description, MOST_SENTENCE).into());
    Ok(shown)
}
