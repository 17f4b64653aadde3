//! How campaigns read.

use domain::{
    ports::store::{CampaignContact, CampaignRow},
    time::Timestamp,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

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

/// One contact of a campaign: its fields at the top level, its own before the further ones.
pub struct ShownContact<'a>(pub &'a CampaignContact);

impl Serialize for ShownContact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contact = self.0;
        let mut shown = serializer.serialize_map(None)?;
        shown.serialize_entry("phoneNumber", contact.phone_number.as_str())?;
        let own = [("name", &contact.name), ("email", &contact.email)];
        for (field, value) in own {
            if let Some(text) = value {
                shown.serialize_entry(field, text)?;
            }
        }
        for (field, value) in &contact.extra {
            let taken = own.iter().any(|(name, value)| name == field && value.is_some());
            if !taken && field != "phoneNumber" && field != "contactId" {
                shown.serialize_entry(field, value)?;
            }
        }
        shown.serialize_entry("contactId", &contact.contact)?;
        shown.end()
    }
}
