//! Campaigns and the results of their contacts in responses.

use domain::{
    agent::Entities,
    campaign_options::CampaignOptions,
    conversation::{self, DataCollected},
    id::{AgentId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{self, CampaignRow, CampaignStatus, ContactResult, ContactStatus, FollowUp, Progress, RecentDials},
    time::Timestamp,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use utoipa::ToSchema;

/// A campaign and its state.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Campaign {
    /// Id of the campaign.
    #[schema(value_type = String, format = "uuid")]
    pub campaign_id: CampaignId,
    /// Name of the campaign.
    pub name: String,
    /// Agent that dials.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// Whether the campaign dials, or will start by itself.
    pub active: bool,
    /// Whether a schedule is attached.
    pub scheduled: bool,
    /// Start time, as given.
    #[schema(required)]
    pub start_time: Option<String>,
    /// End time, as given.
    #[schema(required)]
    pub end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(required)]
    pub timezone: Option<String>,
    /// When dialing starts next, in UTC.
    #[schema(required, format = DateTime)]
    pub next_run_at: Option<String>,
    /// Status of the campaign.
    pub status: CampaignStatus,
    /// Index of the first contact that was not dialed yet.
    #[schema(minimum = 0)]
    pub start_index: i64,
    /// Number of contacts.
    #[schema(minimum = 0)]
    pub contact_count: i64,
    /// Follow-up settings.
    pub follow_up: FollowUp,
    /// Options.
    #[serde(flatten)]
    pub options: CampaignOptions,
    /// When the campaign was created, changed and deleted.
    pub metadata: CampaignMetadata,
    /// Progress of the campaign; omitted in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Pace of the dialing; omitted in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Contacts of the campaign; omitted in lists.
    // A response streams them after the rest, so that they are never held here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<CampaignContact>>)]
    pub contacts: Option<Vec<Value>>,
}

/// When a campaign was created, changed and deleted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignMetadata {
    /// When the campaign was created; ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub created_at: Option<String>,
    /// When the campaign was last changed; ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub updated_at: Option<String>,
    /// When the campaign was deleted; ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub deleted_at: Option<String>,
}

impl Campaign {
    /// Converts a campaign without its contacts, as in lists.
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
            options: row.options,
            metadata: CampaignMetadata {
                created_at: Some(row.created_at.to_iso8601()),
                updated_at: Some(row.updated_at.to_iso8601()),
                deleted_at: None,
            },
            progress: None,
            pacing: None,
            contacts: None,
        }
    }
}

/// Pace of the dialing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pacing {
    /// Dials per minute, in the last five minutes.
    #[schema(minimum = 0)]
    pub dials_per_minute: f64,
    /// Time at which all pending contacts will have been dialed at this pace, in UTC. Null if the campaign is not
    /// dialing, or if its window closes earlier.
    #[schema(required, format = DateTime)]
    pub expected_end: Option<String>,
}

impl Pacing {
    /// Minutes whose dials count.
    pub const MINUTES: i64 = 5;

    /// Returns the pace of a campaign, computed over at least one minute.
    pub fn of(row: &CampaignRow, progress: &Progress, recent: RecentDials) -> Self {
        let now = recent.now.0;
        let measured_us = recent.first.map_or(0, |first| now - first.0).max(MINUTE_US);
        let per_minute = recent.dials as f64 * MINUTE_US as f64 / measured_us as f64;
        let dialing = row.status == CampaignStatus::Running && recent.dials > 0;
        let left_us = (progress.pending as f64 / per_minute * MINUTE_US as f64).ceil();
        let end = Some(Timestamp(now.saturating_add(left_us as i64))).filter(|_| dialing);
        let closes_at = row.closes_at.unwrap_or(Timestamp(i64::MAX));
        Self {
            dials_per_minute: (per_minute * 10.0).round() / 10.0,
            expected_end: end.filter(|end| *end < closes_at).map(Timestamp::to_iso8601),
        }
    }
}

const MINUTE_US: i64 = 60_000_000;

/// A phone number in E.164, or `+0000000` if the person's data was erased.
#[derive(ToSchema)]
#[schema(pattern = r"^\+([1-9][0-9]{6,14}|0000000)$", example = "+15550100010")]
#[expect(dead_code, reason = "describes a text")]
pub struct CampaignNumber(String);

/// Result of a contact.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ContactResult)]
pub struct ShownResult {
    /// Phone number in E.164.
    #[schema(value_type = CampaignNumber)]
    pub phone_number: PhoneNumber,
    /// Name of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the saved contact.
    #[schema(required, value_type = Option<String>, format = "uuid")]
    pub contact_id: Option<ContactId>,
    /// Status of the contact.
    pub status: ContactStatus,
    /// Reason for a failure or cancellation, such as `busy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether the number is on the do-not-call list now; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub do_not_call: bool,
    /// Number of attempts so far, including a planned one.
    #[schema(minimum = 0)]
    pub attempts: i64,
    /// Conversation of the last attempt; `scheduled` if it is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub last_conversation_id: Option<AttemptId>,
    /// Whether a machine answered.
    pub voice_mail_detected: bool,
    /// Data that the agent collected.
    pub data_collected: DataCollected,
}

impl ShownResult {
    /// Converts the result of a contact; `entities` are those of its agent.
    pub fn of(result: &ContactResult, entities: &Entities) -> Self {
        let last = result.last.as_ref();
        Self {
            phone_number: result.who.phone_number.clone(),
            name: result.who.name.clone(),
            contact_id: result.who.contact,
            status: result.status,
            error_message: last.and_then(|last| last.error.clone()),
            do_not_call: false,
            attempts: last.map_or(0, |last| last.number),
            last_conversation_id: last.map(|last| last.id),
            voice_mail_detected: last.is_some_and(|last| last.voicemail),
            data_collected: last.map_or_else(Default::default, |last| {
                conversation::collected(&last.collected, &last.evidence, entities)
            }),
        }
    }
}

/// A contact of a campaign. Custom fields appear beside the standard ones.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `ShownContact` writes")]
pub struct CampaignContact {
    /// Phone number in E.164.
    pub phone_number: CampaignNumber,
    /// Id of the saved contact with this number.
    #[schema(required, format = "uuid")]
    pub contact_id: Option<String>,
    /// Name of the person.
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
}

/// Serialised form of a campaign's contact: its standard fields first, then the custom ones, all at the top level.
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
