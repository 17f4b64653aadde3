//! Evidence for the time of an appointment while the call goes on.

use chrono::DateTime;
use serde_json::Value;

use super::evidence::{Record, Sought};
use crate::{
    agent::{Agent, Entity},
    history::TurnDetail,
    ports::{language_model::HistoryItem, store::TurnFact},
    prompt::main_code,
    schedule, spoken,
    time::Timestamp,
};

/// Returns whether the callee said the time of an appointment or affirmed a question with it. In languages without
/// word tables that cannot be told, and the answer is true.
pub fn is_agreed(start: &Value, history: &[HistoryItem], agent: &Agent, now: Timestamp) -> bool {
    let settings = &agent.conversation_config.agent;
    if spoken::known(&main_code(&settings.primary_language)).is_none() {
        return true;
    }
    let zone = settings.prompt.timezone.parse().unwrap_or(chrono_tz::Tz::UTC);
    let start = start.as_str().unwrap_or_default().trim();
    let local = DateTime::parse_from_rfc3339(start).map(|at| schedule::local(at.to_utc().into(), zone));
    let value = local.map_or_else(|_| start.to_owned(), |at| at.format("%Y-%m-%dT%H:%M").to_string());
    let turns: Vec<TurnFact> = (0..).zip(history).filter_map(turn).collect();
    let sought = Sought {
        name: "appointment",
        entity: &Entity::default(),
        value: &value,
    };
    let record = Record::of(&turns, agent, schedule::local(now, zone).date());
    record.evidence(sought, None).is_some()
}

fn turn((seq, item): (i64, &HistoryItem)) -> Option<TurnFact> {
    let HistoryItem::Said {
        speaker,
        text,
        interrupted,
        damaged,
    } = item
    else {
        return None;
    };
    Some(TurnFact {
        seq,
        speaker: *speaker,
        text: text.clone(),
        started_ms: 0,
        ended_ms: 0,
        interrupted: *interrupted,
        damaged: *damaged,
        detail: TurnDetail::default(),
    })
}
