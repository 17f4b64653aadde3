//! The JSON shapes of conversations for answers, deliveries and the API description.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::record::Turn;
use crate::{
    agent::EntityKind,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{
        Account, AnalysedBy, CallDirection, CalleeRecord, ConversationRow, ConversationStatus, Evidence, KeyMoment,
        Sentiment, SentimentLabel,
    },
    prices::{Cost, PriceList, cost},
    time::Timestamp,
    transcript_search::SearchMatch,
};

/// Owner of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBy {
    /// Id of the account.
    #[schema(value_type = String, format = "uuid")]
    pub user_id: AccountId,
    /// E-mail address of the account.
    pub user_email: String,
}

impl CreatedBy {
    /// Returns the account as an owner.
    pub fn of(account: &Account) -> Self {
        Self {
            user_id: account.id,
            user_email: account.email.clone(),
        }
    }
}

/// Time and owner of a creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// Time of creation (ISO 8601, UTC).
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Owner.
    pub created_by: CreatedBy,
}

impl Made {
    /// Returns the metadata of a resource that the account created at that instant.
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
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    pub conversation_id: AttemptId,
    /// Id of the agent.
    #[schema(value_type = String, format = "uuid")]
    pub agent_id: AgentId,
    /// Version of the agent with which the call began.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub agent_version: Option<i64>,
    /// The agent's name.
    pub agent_name: String,
    /// Id of the campaign, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub campaign_id: Option<CampaignId>,
    /// Status.
    pub status: ConversationStatus,
    /// Direction of the call.
    pub direction: CallDirection,
    /// Whether it is a test call; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub test: bool,
    /// Number of the other person, who was called or who called. Left out after erasure, and if a caller withheld it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_number: Option<PhoneNumber>,
    /// The other person at the start of the call.
    #[serde(flatten)]
    pub callee: CalleeRecord,
    /// Our number on the line: the caller ID, or the number that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_number: Option<PhoneNumber>,
    /// Start in Unix seconds: when it was dialed or came in; before that, when it is due.
    pub start_time_unix: i64,
    /// End in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time_unix: Option<i64>,
    /// Whole seconds from the answer to the end; 0 if never answered.
    #[schema(value_type = i64, minimum = 0)]
    pub conversation_duration: u64,
    /// Whether a machine answered.
    pub voice_mail_detected: bool,
    /// Reason for a failure or cancellation, such as `busy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether the call was transferred.
    pub call_transferred: bool,
    /// Summary in a few sentences, after the analysis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Sentiment, after the analysis. A whole conversation has more of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentiment: Option<OverallSentiment>,
    /// Half of the agent's answers began at most so many milliseconds after the end of the user's speech, rounded up as
    /// in analytics. Left out until the call is counted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub latency_p50_ms: Option<i64>,
    /// Cost of the usage and of the carrier, once the call is over; left out without a price list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Up to three places that match `search`, if that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 3)]
    pub matches: Option<Vec<SearchMatch>>,
    /// Time and owner of its creation.
    pub metadata: Made,
}

impl ConversationItem {
    /// Adds the cost by a price list, if there is one and the call is over.
    #[must_use]
    pub fn priced(mut self, row: &ConversationRow, prices: Option<&PriceList>) -> Self {
        let prices = prices.filter(|_| row.ended_at.is_some() && !row.is_test);
        self.cost = prices.map(|prices| cost(prices, row, row.usage.as_ref()));
        self
    }
}

/// Sentiment in lists of conversations.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OverallSentiment {
    /// Overall label.
    pub sentiment_overall: SentimentLabel,
}

/// A whole conversation. Results of the analysis are left out until it is done.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// Its item in lists.
    #[serde(flatten)]
    pub item: ConversationItem,
    /// Transcript in lines `Agent: …` and `User: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Words that told that an AI speaks; left out if the agent does not say them, or nobody answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<DisclosureMade>,
    /// Turns, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<Turn>>,
    /// Sentiment of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentiment: Option<Sentiment>,
    /// Key moments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_moments: Option<Vec<KeyMoment>>,
    /// The appointment that the call made last, empty if none. If it was booked in a calendar: `dateTime`,
    /// `endDateTime`, `timezone`, `provider`, `calendarId`, `eventId`, `confirmed`, `attendee`, and
    /// `description` if it has notes. If it was only agreed on: `description`, and if its time is certain
    /// `dateTime` (local, ISO 8601) and `timezone`.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub appointment_scheduled: Map<String, Value>,
    /// Values that the agent collected.
    pub data_collected: DataCollected,
    /// Carrier of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// Source of the analysis, once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysed_by: Option<AnalysedBy>,
    /// Issues of the call, if the agent tracks issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<String>>,
    /// Nodes of the conversation graph in the order in which the call was in them, at most 500; left out if the call
    /// walked none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 500)]
    pub workflow_path: Vec<WorkflowStep>,
    /// Usage of providers by their names, once the call is over; left out if it used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, ProviderUsage>>)]
    pub usage: Option<Value>,
}

impl Conversation {
    /// Adds the cost by a price list, if there is one and the call is over.
    #[must_use]
    pub fn priced(mut self, row: &ConversationRow, prices: Option<&PriceList>) -> Self {
        self.item = self.item.priced(row, prices);
        self
    }
}

/// Words that told that an AI speaks.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisclosureMade {
    /// The words.
    pub text: String,
    /// Time at which they were heard to their end, in seconds from the answer; null if they were not.
    #[schema(required, minimum = 0)]
    pub heard_at: Option<f64>,
}

/// A node of the conversation graph in which the call was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStep {
    /// Id of the node.
    pub node: String,
    /// Time at which the call came there, in milliseconds from the answer.
    pub at_ms: i64,
}

/// Values that the agent collected; `entity` and `value` are the first of `items`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataCollected {
    /// The first entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Value of the first entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// All values.
    pub items: Vec<CollectedItem>,
}

/// A collected value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CollectedItem {
    /// Name of the entity.
    pub entity: String,
    /// The value, always as text.
    pub value: String,
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// Whether the callee said it or affirmed it. False until the call is analysed.
    pub confirmed: bool,
    /// Where they did; null if it is not confirmed.
    #[schema(required)]
    pub evidence: Option<Evidence>,
}

/// Usage of one provider, in the units that providers charge.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderUsage {
    /// Tokens that a language model read, including cached ones.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Tokens among them from the provider's prompt cache.
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
    /// The same usage for each of its models by name, or for each voice if the provider charges by voice.
    pub models: Option<BTreeMap<String, ModelUsage>>,
}

/// Usage of one model.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Tokens that it read, including cached ones.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Tokens among them from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached_tokens: Option<i64>,
    /// Tokens that it wrote.
    #[schema(minimum = 0)]
    pub output_tokens: Option<i64>,
    /// Characters that it synthesised.
    #[schema(minimum = 0)]
    pub characters: Option<i64>,
    /// Seconds of audio that it transcribed.
    #[schema(minimum = 0)]
    pub seconds: Option<f64>,
}
