//! Representation of conversations in REST answers and in deliveries.

mod record;
mod view;

use std::collections::BTreeMap;

use crate::{
    agent::{self, Agent, Entities, EntityKind},
    ports::{
        language_model::Speaker,
        store::{
            Account, AgentRow, Appointment, ConversationRow, DISCLOSURE, EventFact, EvidenceOfValues, Store,
            StoreError, StoreResult, TurnFact, WORKFLOW_HOP,
        },
    },
    time::Timestamp,
};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

pub use record::{CallEvent, EventType, Turn, TurnLatency, event, latencies, latency_of, turn_of, turns};
pub use view::*;

/// Most moves in the conversation graph that are shown of a call.
const MOST_HOPS: i64 = 499;

/// Returns the list item of a conversation.
pub fn item(row: &ConversationRow, account: &Account) -> ConversationItem {
    ConversationItem {
        conversation_id: row.id,
        agent_id: row.agent,
        agent_version: row.agent_version,
        agent_name: row.agent_name.clone(),
        campaign_id: row.campaign,
        status: row.status,
        direction: row.direction,
        test: row.is_test,
        contact_number: Some(row.contact_number.clone()).filter(|number| !number.is_nobodys()),
        callee: row.callee.clone(),
        caller_number: row.caller_number.clone(),
        start_time_unix: row.started_at.unix_seconds(),
        end_time_unix: row.ended_at.map(Timestamp::unix_seconds),
        conversation_duration: row.duration_s(),
        voice_mail_detected: row.voicemail,
        error_message: row.error.clone(),
        call_transferred: row.transferred,
        summary: row.analysis.as_ref().map(|analysis| analysis.summary.clone()),
        sentiment: row
            .sentiment
            .map(|sentiment_overall| OverallSentiment { sentiment_overall }),
        latency_p50_ms: row.latency_ms,
        cost: None,
        matches: None,
        metadata: Made::of(account, row.created_at),
    }
}

/// Stored facts of a call besides its row.
pub struct Facts<'a> {
    /// Turns in order.
    pub turns: &'a [TurnFact],
    /// Moves in the conversation graph, in order.
    pub hops: &'a [EventFact],
    /// Events of the words that tell that an AI speaks, in order.
    pub disclosures: &'a [EventFact],
}

/// Returns the whole conversation.
pub fn detail(row: &ConversationRow, facts: &Facts<'_>, agent: Option<&AgentRow>, account: &Account) -> Conversation {
    let agent = agent.and_then(|agent| agent::complete(&agent.document).ok());
    let analysis = row.analysis.as_ref();
    // A booked appointment contains more than one that was only agreed on.
    let understood = || analysis.map(|found| found.appointment.clone()).unwrap_or_default();
    Conversation {
        item: ConversationItem {
            sentiment: None,
            ..item(row, account)
        },
        transcript: transcript(facts.turns),
        disclosure: disclosure(facts.disclosures),
        turns: None,
        sentiment: analysis.map(|found| found.sentiment.clone()),
        key_moments: analysis.map(|found| found.key_moments.clone()),
        appointment_scheduled: row.appointment.as_ref().map_or_else(understood, appointment),
        data_collected: collected(&row.collected, &row.evidence, &asked_for(agent.as_ref())),
        carrier: row.carrier.clone(),
        analysed_by: analysis.map(|found| found.by),
        issues: issues(row, facts.turns, agent.as_ref()),
        workflow_path: workflow_path(facts.hops),
        usage: row.usage.clone(),
    }
}

/// Loads and returns the whole conversation.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn in_full(store: &dyn Store, account: &Account, row: &ConversationRow) -> StoreResult<Conversation> {
    let turns = store.turns(row.id).await?;
    let agent = match store.agent(account.id, row.agent).await {
        Ok(agent) => Some(agent),
        // The agent may be deleted; its conversations stay.
        Err(StoreError::NotFound) => None,
        Err(other) => return Err(other),
    };
    let found = store.events_of(row.id, &[WORKFLOW_HOP, DISCLOSURE], None, MOST_HOPS);
    let found = found.await?.into_iter().map(|row| row.event);
    let (hops, disclosures): (Vec<_>, Vec<_>) = found.partition(|event| event.name == WORKFLOW_HOP);
    let facts = Facts {
        turns: &turns,
        hops: &hops,
        disclosures: &disclosures,
    };
    Ok(detail(row, &facts, agent.as_ref(), account))
}

/// Returns the words that told that an AI speaks, as they were heard last, or were to be heard.
fn disclosure(told: &[EventFact]) -> Option<DisclosureMade> {
    let read = |event: &EventFact| serde_json::from_str::<Value>(&event.detail).unwrap_or_default();
    let heard = told.iter().rfind(|event| read(event)["heard"] == true);
    let event = heard.or(told.last())?;
    Some(DisclosureMade {
        text: read(event)["text"].as_str()?.to_owned(),
        heard_at: heard.map(|event| event.at_ms as f64 / 1_000.0),
    })
}

/// Returns the nodes that these moves led through.
fn workflow_path(hops: &[EventFact]) -> Vec<WorkflowStep> {
    let mut path: Vec<WorkflowStep> = Vec::new();
    for hop in hops {
        let detail: Value = serde_json::from_str(&hop.detail).unwrap_or_default();
        let first = if path.is_empty() { detail["from"].as_str() } else { None };
        let nodes = first.into_iter().chain(detail["to"].as_str());
        path.extend(nodes.map(|node| WorkflowStep {
            node: node.to_owned(),
            at_ms: hop.at_ms,
        }));
    }
    path
}

fn insert_some(shown: &mut Map<String, Value>, name: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        shown.insert(name.into(), json!(value));
    }
}

/// Returns lines `Agent: …`, `User: …` and `Operator: …`; none if nothing was said.
fn transcript(turns: &[TurnFact]) -> Option<String> {
    let lines: Vec<String> = turns
        .iter()
        .filter(|turn| !turn.text.trim().is_empty())
        .map(|turn| {
            let speaker = match turn.speaker {
                Speaker::Agent => "Agent",
                Speaker::User => "User",
                Speaker::Operator => "Operator",
            };
            let words: Vec<&str> = turn.text.split_whitespace().collect();
            format!("{speaker}: {}", words.join(" "))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns `appointmentScheduled` for an appointment booked during the call.
pub fn appointment(booked: &Appointment) -> Map<String, Value> {
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
    shown
}

/// Returns the issues of a call that is over, if its agent had `issueTracking`.
fn issues(row: &ConversationRow, turns: &[TurnFact], agent: Option<&Agent>) -> Option<Vec<String>> {
    if row.ended_at.is_none() || !row.tracks_issues(agent) {
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

/// Returns whether an ended call has issues and its agent tracked them.
pub fn has_issue(row: &ConversationRow, turns: &[TurnFact], agent: Option<&AgentRow>) -> bool {
    let agent = agent.and_then(|agent| agent::complete(&agent.document).ok());
    issues(row, turns, agent.as_ref()).is_some_and(|issues| !issues.is_empty())
}

/// Returns the entities that an agent asks for, in its order.
pub fn entities(agent: Option<&AgentRow>) -> Entities {
    asked_for(agent.and_then(|agent| agent::complete(&agent.document).ok()).as_ref())
}

fn asked_for(agent: Option<&Agent>) -> Entities {
    agent
        .map(|agent| agent.platform_settings.data_collection.typed())
        .unwrap_or_default()
}

/// Returns `dataCollected`: `items` contains all collected values, those of the agent's entities first;
/// `entity` and `value` are the first item.
pub fn collected(
    collected: &BTreeMap<String, String>,
    evidence: &EvidenceOfValues,
    entities: &Entities,
) -> DataCollected {
    let asked = entities
        .iter()
        .filter_map(|(name, entity)| Some((name, collected.get(name)?, entity.kind)));
    let others = collected
        .iter()
        .filter(|(name, _)| !entities.iter().any(|(known, _)| known == *name))
        .map(|(name, value)| (name, value, EntityKind::String));
    let items: Vec<CollectedItem> = asked
        .chain(others)
        .map(|(name, value, kind)| CollectedItem {
            entity: name.clone(),
            value: value.clone(),
            kind,
            confirmed: evidence.contains_key(name),
            evidence: evidence.get(name).cloned(),
        })
        .collect();
    let first = items.first();
    DataCollected {
        entity: first.map(|first| first.entity.clone()),
        value: first.map(|first| first.value.clone()),
        items,
    }
}
