//! The values of the placeholders in the texts of a call.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::{
    agent::Agent,
    id::{AgentId, AttemptId},
    phone_number::PhoneNumber,
    ports::store::{CallDirection, CampaignContact, ConversationRow},
    template::{CALL_DURATION, CALLED_NUMBER, CALLER_NUMBER, SYSTEM_VARIABLES},
    time::Timestamp,
};

/// A call as its placeholders tell of it.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// Id of the agent.
    pub agent_id: AgentId,
    /// Id of the conversation.
    pub attempt: AttemptId,
    /// The number that calls, if it is known.
    pub calling: Option<&'a PhoneNumber>,
    /// The number that is called, if it is known.
    pub called: Option<&'a PhoneNumber>,
    /// Time of the call.
    pub at: Timestamp,
    /// Seconds since the answer.
    pub duration_s: u64,
}

impl<'a> CallFacts<'a> {
    /// Returns the facts of a call that is over.
    pub fn of(row: &'a ConversationRow) -> Self {
        let person = Some(&row.contact_number).filter(|number| !number.is_nobodys());
        let (calling, called) = match row.direction {
            CallDirection::Outbound => (row.caller_number.as_ref(), person),
            CallDirection::Inbound => (person, row.caller_number.as_ref()),
        };
        let duration = row.answered_at.zip(row.ended_at);
        Self {
            agent_id: row.agent,
            attempt: row.id,
            calling,
            called,
            at: row.started_at,
            duration_s: duration.map_or(0, |(answered, ended)| ended.since(answered).as_secs()),
        }
    }
}

/// Returns the values of a call. Later sources override earlier ones: the agent's own, `given` in its order,
/// the further fields of the contact, its known fields, the system's.
pub fn call_values<'a>(
    agent: &'a Agent,
    given: impl IntoIterator<Item = &'a Map<String, Value>>,
    contact: &'a CampaignContact,
    call: &CallFacts<'_>,
) -> BTreeMap<String, String> {
    let section = &agent.conversation_config.agent;
    let free = given.into_iter().chain([&contact.extra]).flatten();
    let all = section.dynamic_variables.iter().chain(free);
    let mut values: BTreeMap<String, String> = all.map(|(name, value)| (name.clone(), text(value))).collect();
    let mut set = |name: &str, value: String| values.insert(name.to_owned(), value);
    let person = Some(&contact.phone_number).filter(|number| !number.is_nobodys());
    set("phoneNumber", spelled(person));
    if let Some(name) = &contact.name {
        set("name", name.clone());
    }
    if let Some(email) = &contact.email {
        set("email", email.clone());
    }
    values.extend(system_values(agent, call));
    values
}

/// Returns the values that the service fills in itself, with the time in the agent's zone.
pub fn system_values(agent: &Agent, call: &CallFacts<'_>) -> impl Iterator<Item = (String, String)> + use<> {
    let zone: Tz = agent
        .conversation_config
        .agent
        .prompt
        .timezone
        .parse()
        .unwrap_or(Tz::UTC);
    let local = call.at.to_utc().with_timezone(&zone);
    let values = [
        ("system__agent_id", call.agent_id.to_string()),
        ("system__conversation_id", call.attempt.to_string()),
        (CALLER_NUMBER, spelled(call.calling)),
        (CALLED_NUMBER, spelled(call.called)),
        ("system__time", local.format("%Y-%m-%d %H:%M:%S").to_string()),
        ("system__timezone", zone.name().to_owned()),
        (CALL_DURATION, call.duration_s.to_string()),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value))
}

fn spelled(number: Option<&PhoneNumber>) -> String {
    number.map(ToString::to_string).unwrap_or_default()
}

/// Returns the agent's own values of the placeholders that neither `given`, nor the contact, nor the system fills.
pub fn own_values<'a>(
    agent: &'a Agent,
    given: [&'a Map<String, Value>; 2],
    contact: &'a CampaignContact,
) -> impl Iterator<Item = (String, String)> + 'a {
    let filled = move |name: &str| match name {
        "phoneNumber" => true,
        "name" if contact.name.is_some() => true,
        "email" if contact.email.is_some() => true,
        _ => {
            let of_call = given.iter().any(|values| values.contains_key(name));
            of_call || contact.extra.contains_key(name) || SYSTEM_VARIABLES.contains(&name)
        }
    };
    let own = agent.conversation_config.agent.dynamic_variables.iter();
    let open = own.filter(move |(name, _)| !filled(name));
    open.map(|(name, value)| (name.clone(), text(value)))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
