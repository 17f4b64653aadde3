//! How campaigns and what became of their contacts read.

use domain::{
    agent::Entities,
    conversation::{self, DataCollected},
    id::{AgentId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{self, CampaignRow, CampaignStatus, ContactResult, ContactStatus, FollowUp, Progress},
    time::Timestamp,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use utoipa::ToSchema;

/// A campaign.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Campaign {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub campaign_id: CampaignId,
    /// Its name.
    pub name: String,
    /// The agent that dials.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// Whether it dials, or will by itself.
    pub active: bool,
    /// Whether a schedule is attached.
    pub scheduled: bool,
    /// As it was given.
    #[schema(required)]
    pub start_time: Option<String>,
    /// As it was given.
    #[schema(required)]
    pub end_time: Option<String>,
    /// IANA name.
    #[schema(required)]
    pub timezone: Option<String>,
    /// When dialing next begins, UTC.
    #[schema(required, format = DateTime)]
    pub next_run_at: Option<String>,
    /// Where it stands.
    pub status: CampaignStatus,
    /// The first contact not yet dialed.
    #[schema(minimum = 0)]
    pub start_index: i64,
    /// Its contacts.
    #[schema(minimum = 0)]
    pub contact_count: i64,
    /// Its follow-ups.
    pub follow_up: FollowUp,
    /// Calls of this campaign at once, when that is bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    pub max_concurrent_calls: Option<u32>,
    /// When it was made.
    pub metadata: CampaignMetadata,
    /// How far it is; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Its contacts; left out in lists.
    // An answer streams them behind the rest, so that none is held here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<CampaignContact>>)]
    pub contacts: Option<Vec<Value>>,
}

/// When a campaign was made, changed and deleted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignMetadata {
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub created_at: Option<String>,
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub updated_at: Option<String>,
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub deleted_at: Option<String>,
}

impl Campaign {
    /// A campaign without its contacts, as lists show it.
    pub fn of(row: &CampaignRow) -> Self {
        Self {
            campaign_id: row.id,
            name: row.name.clone(),
            agent_id: row.agent,
            active: row.active,
            scheduled: row.scheduled,
            start_time: row.schedule.start_time.clone(),
            end_time: row.schedule.end_time.clone(),
            timezone: row.schedule.timezone.clone(),
            next_run_at: row.next_run_at.map(Timestamp::to_iso8601),
            status: row.status,
            start_index: row.start_index,
            contact_count: row.contact_count,
            follow_up: row.follow_up.clone(),
            max_concurrent_calls: row.max_concurrent_calls,
            metadata: CampaignMetadata {
                created_at: Some(row.created_at.to_iso8601()),
                updated_at: Some(row.updated_at.to_iso8601()),
                deleted_at: None,
            },
            progress: None,
            contacts: None,
        }
    }
}

/// A deleted campaign's id.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignDeleted {
    /// The id.
    #[schema(value_type = String, format = "uuid")]
    pub campaign_id: CampaignId,
    /// True.
    pub deleted: bool,
}

/// A phone number in E.164; `+0000000` where the person's was erased.
#[derive(ToSchema)]
#[schema(pattern = r"^\+([1-9][0-9]{6,14}|0000000)$", example = "+15550100010")]
#[expect(dead_code, reason = "describes a text")]
pub struct CampaignNumber(String);

/// What came of a contact.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ContactResult)]
pub struct ShownResult {
    /// E.164.
    #[schema(value_type = CampaignNumber)]
    pub phone_number: PhoneNumber,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The saved contact.
    #[schema(required, value_type = Option<String>, format = "uuid")]
    pub contact_id: Option<ContactId>,
    /// Where it stands.
    pub status: ContactStatus,
    /// Why it failed or was cancelled, such as `busy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Attempts so far; one that is planned counts.
    #[schema(minimum = 0)]
    pub attempts: i64,
    /// The conversation of the last attempt; a planned one is `scheduled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub last_conversation_id: Option<AttemptId>,
    /// A machine picked up.
    pub voice_mail_detected: bool,
    /// What the agent found out.
    pub data_collected: DataCollected,
}

impl ShownResult {
    /// What came of a contact; `entities` are those that its agent asks for.
    pub fn of(result: &ContactResult, entities: &Entities) -> Self {
        let last = result.last.as_ref();
        let nothing = Default::default();
        let collected = last.map_or(&nothing, |last| &last.collected);
        Self {
            phone_number: result.who.phone_number.clone(),
            name: result.who.name.clone(),
            contact_id: result.who.contact,
            status: result.status,
            error_message: last.and_then(|last| last.error.clone()),
            attempts: last.map_or(0, |last| last.number),
            last_conversation_id: last.map(|last| last.id),
            voice_mail_detected: last.is_some_and(|last| last.voicemail),
            data_collected: conversation::collected(collected, entities),
        }
    }
}

/// A contact of a campaign. Further fields stand beside the known ones.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `ShownContact` writes")]
pub struct CampaignContact {
    /// E.164.
    pub phone_number: CampaignNumber,
    /// The saved contact with this number.
    #[schema(required, format = "uuid")]
    pub contact_id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its address.
    pub email: Option<String>,
}

/// One contact of a campaign: its fields at the top level, its own before the further ones.
pub struct ShownContact<'a>(pub &'a store::CampaignContact);

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
