//! The shapes in which conversations are answered, delivered and described.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    agent::EntityKind,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{Account, AnalysedBy, CallDirection, ConversationStatus, KeyMoment, Sentiment},
    time::Timestamp,
};

/// Whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBy {
    /// The account.
    #[schema(value_type = String, format = "uuid")]
    pub user_id: AccountId,
    /// Its address.
    pub user_email: String,
}

impl CreatedBy {
    /// The account as an owner.
    pub fn of(account: &Account) -> Self {
        Self {
            user_id: account.id,
            user_email: account.email.clone(),
        }
    }
}

/// When it was made, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// By whom.
    pub created_by: CreatedBy,
}

impl Made {
    /// Made by the account at that instant.
    pub fn of(account: &Account, at: Timestamp) -> Self {
        Self {
            created_at: at.to_iso8601(),
            created_by: CreatedBy::of(account),
        }
    }
}

/// An item of the list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationItem {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
    /// The agent.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// The agent's name.
    pub agent_name: String,
    /// The campaign, if one dialed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub campaign_id: Option<CampaignId>,
    /// Where it stands.
    pub status: ConversationStatus,
    /// Which way it went.
    pub direction: CallDirection,
    /// The person: who was called, or who called. Left out once erased, and where a caller withheld it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_number: Option<PhoneNumber>,
    /// Our number on the line: the caller ID, or of an inbound call the number that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_number: Option<PhoneNumber>,
    /// Dialed or called at, in Unix seconds; before that, when it is due.
    pub start_time_unix: i64,
    /// Over since, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time_unix: Option<i64>,
    /// Whole seconds from the answer to the end; 0 if never answered.
    #[schema(value_type = i64, minimum = 0)]
    pub conversation_duration: u64,
    /// A few sentences, after the analysis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was made.
    pub metadata: Made,
}

/// A whole conversation. What the analysis finds is left out until it is done.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
    /// The agent.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// The agent's name.
    pub agent_name: String,
    /// The campaign, if one dialed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub campaign_id: Option<CampaignId>,
    /// Where it stands.
    pub status: ConversationStatus,
    /// Which way it went.
    pub direction: CallDirection,
    /// The person: who was called, or who called. Left out once erased, and where a caller withheld it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_number: Option<PhoneNumber>,
    /// Our number on the line: the caller ID, or of an inbound call the number that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_number: Option<PhoneNumber>,
    /// Dialed or called at, in Unix seconds; before that, when it is due.
    pub start_time_unix: i64,
    /// Over since, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time_unix: Option<i64>,
    /// Whole seconds from the answer to the end; 0 if never answered.
    #[schema(value_type = i64, minimum = 0)]
    pub conversation_duration: u64,
    /// A few sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Lines `Agent: …` and `User: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// How it felt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentiment: Option<Sentiment>,
    /// What mattered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_moments: Option<Vec<KeyMoment>>,
    /// The appointment that the call made last, empty if none. One that was booked in a calendar: `dateTime`,
    /// `endDateTime`, `timezone`, `provider`, `calendarId`, `eventId`, `confirmed`, `attendee`, and `description` where it
    /// has notes. One that was only agreed on: `description`, and where its time is certain `dateTime` (local, ISO 8601) and
    /// `timezone`.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub appointment_scheduled: Map<String, Value>,
    /// What the agent was to find out.
    pub data_collected: DataCollected,
    /// A machine picked up.
    pub voice_mail_detected: bool,
    /// Why it failed or was cancelled, such as `busy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// It was handed on.
    pub call_transferred: bool,
    /// Who carried it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// Who analysed it, once that is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysed_by: Option<AnalysedBy>,
    /// What went wrong, when the agent tracks issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<String>>,
    /// What the call used of its providers, by their names, once it is over; left out when it used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, ProviderUsage>>)]
    pub usage: Option<Value>,
    /// When it was made.
    pub metadata: Made,
}

/// What the agent found out; `entity` and `value` are the first of `items`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataCollected {
    /// The first entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// All of them.
    pub items: Vec<CollectedItem>,
}

/// One thing that was found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CollectedItem {
    /// Its name.
    pub entity: String,
    /// Its value, always a text.
    pub value: String,
    /// What the text is to be read as.
    #[serde(rename = "type")]
    pub kind: EntityKind,
}

/// What a call used of one provider, as providers charge for it.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderUsage {
    /// Tokens that a language model read, those from its cache included.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Of these, tokens from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached_tokens: Option<i64>,
    /// Tokens that a language model wrote.
    #[schema(minimum = 0)]
    pub output_tokens: Option<i64>,
    /// Characters that were synthesised.
    #[schema(minimum = 0)]
    pub characters: Option<i64>,
    /// Seconds of audio that were transcribed.
    #[schema(minimum = 0)]
    pub seconds: Option<f64>,
    /// The same of each of its models by its name, or of each voice where the provider charges by voices.
    pub models: Option<BTreeMap<String, ModelUsage>>,
}

/// What a call used of one model.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Tokens that it read, those from its cache included.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Of these, tokens from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached_tokens: Option<i64>,
    /// Tokens that it wrote.
    #[schema(minimum = 0)]
    pub output_tokens: Option<i64>,
    /// Characters that it spoke.
    #[schema(minimum = 0)]
    pub characters: Option<i64>,
    /// Seconds of audio that it heard.
    #[schema(minimum = 0)]
    pub seconds: Option<f64>,
}
