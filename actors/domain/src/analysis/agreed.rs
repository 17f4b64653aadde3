//! Evidence for the time of an appointment while the call goes on.

use chrono::DateTime;

use super::evidence::{Line, Record, Sought};
use crate::{agent::Agent, ports::language_model::HistoryItem, prompt::main_code, schedule, spoken, time::Timestamp};

/// Returns whether the callee said the time of an appointment or affirmed a question with it. In languages without
/// word tables that cannot be told, and the answer is true.
pub fn is_agreed(start: &str, history: &[HistoryItem], agent: &Agent, now: Timestamp) -> bool {
    let settings = &agent.conversation_config.agent;
    if spoken::known(&main_code(&settings.primary_language)).is_none() {
        return true;
    }
    let zone = settings.prompt.timezone.parse().unwrap_or(chrono_tz::Tz::UTC);
    let local = DateTime::parse_from_rfc3339(start.trim()).map(|at| schedule::local(at.to_utc().into(), zone));
    let value = local.map_or_else(|_| start.to_owned(), |at| at.format("%Y-%m-%dT%H:%M").to_string());
    let lines = history.iter().filter_map(|item| match item {
        HistoryItem::Said {
            speaker,
            text,
            interrupted,
            ..
        } => Some(Line {
            seq: 0,
            speaker: *speaker,
            text,
            interrupted: *interrupted,
        }),
        _ => None,
    });
    let record = Record::of(lines, agent, schedule::local(now, zone).date());
    record.evidence(Sought::text(&value), None).is_some()
}
