//! How conversations are shown, in REST answers and in deliveries.

use std::collections::BTreeMap;

use crate::{
    agent::{self, Agent, Entities, EntityKind},
    ports::{
        language_model::Speaker,
        store::{Account, AgentRow, Appointment, ConversationRow, EventFact, Store, StoreError, StoreResult, TurnFact},
        usage::USAGE,
    },
    time::Timestamp,
};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

/// An item of the list.
pub fn item(row: &ConversationRow, account: &Account) -> Value {
    let mut shown = Map::new();
    shown.insert("conversationId".into(), json!(row.id));
    common(&mut shown, row);
    insert_some(
        &mut shown,
        "summary",
        row.analysis.as_ref().map(|analysis| &analysis.summary),
    );
    shown.insert("metadata".into(), metadata(row, account));
    Value::Object(shown)
}

/// What was kept of a call besides its row.
pub struct Facts<'a> {
    /// What was said, in order.
    pub turns: &'a [TurnFact],
    /// The event that tells what it used.
    pub usage: Option<&'a EventFact>,
}

/// The whole conversation.
pub fn detail(row: &ConversationRow, facts: &Facts<'_>, agent: Option<&AgentRow>, account: &Account) -> Value {
    let turns = facts.turns;
    let agent = agent.and_then(|agent| agent::complete(&agent.document).ok());
    let mut shown = Map::new();
    shown.insert("conversationId".into(), json!(row.id));
    common(&mut shown, row);
    let analysis = row.analysis.as_ref();
    insert_some(&mut shown, "summary", analysis.map(|a| &a.summary));
    insert_some(&mut shown, "transcript", transcript(turns));
    insert_some(&mut shown, "sentiment", analysis.map(|a| &a.sentiment));
    insert_some(&mut shown, "keyMoments", analysis.map(|a| &a.key_moments));
    // What stands in a calendar is more than what was understood.
    let understood = || analysis.map_or_else(|| json!({}), |found| json!(found.appointment));
    let appointment = row.appointment.as_ref().map_or_else(understood, appointment);
    shown.insert("appointmentScheduled".into(), appointment);
    shown.insert(
        "dataCollected".into(),
        collected(&row.collected, &asked_for(agent.as_ref())),
    );
    shown.insert("voiceMailDetected".into(), json!(row.voicemail));
    insert_some(&mut shown, "errorMessage", row.error.as_ref());
    shown.insert("callTransferred".into(), json!(row.transferred));
    insert_some(&mut shown, "carrier", row.carrier.as_ref());
    insert_some(&mut shown, "analysedBy", analysis.map(|a| a.by));
    insert_some(&mut shown, "issues", issues(row, turns, agent.as_ref()));
    let usage = facts
        .usage
        .and_then(|event| serde_json::from_str::<Value>(&event.detail).ok());
    insert_some(&mut shown, "usage", usage);
    shown.insert("metadata".into(), metadata(row, account));
    Value::Object(shown)
}

/// A conversation in full.
///
/// # Errors
///
/// When the store fails.
pub async fn in_full(store: &dyn Store, account: &Account, row: &ConversationRow) -> StoreResult<Value> {
    let turns = store.turns(row.id).await?;
    let agent = match store.agent(account.id, row.agent).await {
        Ok(agent) => Some(agent),
        // The agent may be gone; its conversations stay.
        Err(StoreError::NotFound) => None,
        Err(other) => return Err(other),
    };
    let usage = match row.ended_at {
        Some(_) => store.last_event(row.id, USAGE).await?,
        None => None,
    };
    let facts = Facts {
        turns: &turns,
        usage: usage.as_ref(),
    };
    Ok(detail(row, &facts, agent.as_ref(), account))
}

fn common(shown: &mut Map<String, Value>, row: &ConversationRow) {
    shown.insert("agentId".into(), json!(row.agent));
    shown.insert("agentName".into(), json!(row.agent_name));
    insert_some(shown, "campaignId", row.campaign);
    shown.insert("status".into(), json!(row.status.as_str()));
    shown.insert("direction".into(), json!(row.direction.as_str()));
    let number = (!row.contact_number.is_nobodys()).then_some(&row.contact_number);
    insert_some(shown, "contactNumber", number);
    insert_some(shown, "callerNumber", row.caller_number.as_ref());
    shown.insert("startTimeUnix".into(), json!(row.started_at.unix_seconds()));
    insert_some(shown, "endTimeUnix", row.ended_at.map(Timestamp::unix_seconds));
    shown.insert("conversationDuration".into(), json!(duration_s(row)));
}

/// Whole seconds from the answer to the end; 0 until both are known.
fn duration_s(row: &ConversationRow) -> u64 {
    match (row.answered_at, row.ended_at) {
        (Some(answered), Some(ended)) => ended.since(answered).as_secs(),
        _ => 0,
    }
}

fn insert_some(shown: &mut Map<String, Value>, name: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        shown.insert(name.into(), json!(value));
    }
}

fn metadata(row: &ConversationRow, account: &Account) -> Value {
    json!({
        "createdAt": row.created_at.to_iso8601(),
        "createdBy": { "userId": account.id, "userEmail": account.email },
    })
}

/// Lines `Agent: …` and `User: …`; none when nothing was said.
fn transcript(turns: &[TurnFact]) -> Option<String> {
    let lines: Vec<String> = turns
        .iter()
        .filter(|turn| !turn.text.trim().is_empty())
        .map(|turn| {
            let speaker = match turn.speaker {
                Speaker::Agent => "Agent",
                Speaker::User => "User",
            };
            let words: Vec<&str> = turn.text.split_whitespace().collect();
            format!("{speaker}: {}", words.join(" "))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `appointmentScheduled` of what was booked during the call.
fn appointment(booked: &Appointment) -> Value {
    let Appointment {
        wish, event, confirmed, ..
    } = booked;
    let details = &wish.details;
    let zone = details.timezone.parse().unwrap_or(Tz::UTC);
    let mut attendee = Map::new();
    attendee.insert("name".into(), json!(details.name));
    insert_some(&mut attendee, "email", details.email.as_ref());
    let mut shown = Map::new();
    shown.insert("dateTime".into(), json!(wish.starts_at.to_iso8601_in(zone)));
    shown.insert("endDateTime".into(), json!(wish.ends_at.to_iso8601_in(zone)));
    shown.insert("timezone".into(), json!(details.timezone));
    insert_some(&mut shown, "description", details.notes.as_ref());
    shown.insert("provider".into(), json!(wish.provider.as_str()));
    insert_some(
        &mut shown,
        "calendarId",
        Some(&wish.calendar).filter(|id| !id.is_empty()),
    );
    insert_some(&mut shown, "eventId", event.as_ref());
    shown.insert("confirmed".into(), json!(confirmed));
    shown.insert("attendee".into(), Value::Object(attendee));
    Value::Object(shown)
}

/// What went wrong, of a call that is over, when the agent has `issueTracking`.
fn issues(row: &ConversationRow, turns: &[TurnFact], agent: Option<&Agent>) -> Option<Vec<String>> {
    if row.ended_at.is_none() || !agent?.platform_settings.call_actions.issue_tracking {
        return None;
    }
    let ended = row.error.iter().map(|error| format!("the call ended with: {error}"));
    let damaged = turns.iter().filter(|turn| turn.damaged).map(|turn| {
        let second = turn.started_ms.max(0) / 1_000;
        let at = format!("{:02}:{:02}", second / 60, second % 60);
        format!("part of what the user said at {at} was not understood")
    });
    let found = row.analysis.iter().flat_map(|analysis| analysis.issues.iter().cloned());
    Some(damaged.chain(ended).chain(found).collect())
}

/// The entities that an agent asks for, in its order.
pub fn entities(agent: Option<&AgentRow>) -> Entities {
    asked_for(agent.and_then(|agent| agent::complete(&agent.document).ok()).as_ref())
}

fn asked_for(agent: Option<&Agent>) -> Entities {
    agent
        .map(|agent| agent.platform_settings.data_collection.typed())
        .unwrap_or_default()
}

/// `dataCollected`: `items` holds all that was collected, the agent's entities first; `entity` and `value` are the
/// first of them.
pub fn collected(collected: &BTreeMap<String, String>, entities: &Entities) -> Value {
    let asked = entities
        .iter()
        .filter_map(|(name, entity)| Some((name, collected.get(name)?, entity.kind)));
    let others = collected
        .iter()
        .filter(|(name, _)| !entities.iter().any(|(known, _)| known == *name))
        .map(|(name, value)| (name, value, EntityKind::String));
    let items: Vec<Value> = asked
        .chain(others)
        .map(|(name, value, kind)| json!({ "entity": name, "value": value, "type": kind }))
        .collect();
    let mut shown = Map::new();
    if let Some(first) = items.first() {
        shown.insert("entity".into(), first["entity"].clone());
        shown.insert("value".into(), first["value"].clone());
    }
    shown.insert("items".into(), Value::Array(items));
    Value::Object(shown)
}
