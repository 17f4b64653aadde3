//! How campaigns read.

use actors::{
    ports::store::{CampaignContact, CampaignRow},
    time::Timestamp,
};
use serde_json::{Map, Value, json};

use crate::rest::contact_fields;

/// A campaign without its contacts.
pub fn campaign(row: &CampaignRow) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut insert = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    insert("campaignId", json!(row.id));
    insert("name", json!(row.name));
    insert("agentId", json!(row.agent));
    insert("active", json!(row.active));
    insert("scheduled", json!(row.scheduled));
    insert("startTime", json!(row.schedule.start_time));
    insert("endTime", json!(row.schedule.end_time));
    insert("timezone", json!(row.schedule.timezone));
    insert("nextRunAt", json!(row.next_run_at.map(Timestamp::to_iso8601)));
    insert("status", json!(row.status.as_str()));
    insert("startIndex", json!(row.start_index));
    insert("contactCount", json!(row.contact_count));
    insert("followUp", json!(row.follow_up));
    if let Some(calls) = row.max_concurrent_calls {
        insert("maxConcurrentCalls", json!(calls));
    }
    let metadata = json!({
        "createdAt": row.created_at.to_iso8601(),
        "updatedAt": row.updated_at.to_iso8601(),
        "deletedAt": null,
    });
    insert("metadata", metadata);
    shown
}

/// One contact of a campaign.
pub fn contact(contact: &CampaignContact) -> Map<String, Value> {
    let mut shown = contact_fields::show(
        &contact.phone_number,
        contact.name.as_deref(),
        contact.email.as_deref(),
        &contact.extra,
    );
    shown.insert("contactId".into(), json!(contact.contact));
    shown
}
