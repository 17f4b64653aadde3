//! Events of an account: their types, patterns of types, their JSON, and their store.
//!
//! Each row is created in the transaction of the change that it reports. Transactions do not commit in the order in
//! which they begin. So an event gets its place after the commit, by one publisher at a time. A reader that has seen a
//! place has seen all before it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    attempts::{CallDirection, ConversationStatus},
    callee_record::CalleeRecord,
    campaigns::CampaignStatus,
    error::StoreResult,
};
use crate::{
    id::{AccountEventId, AccountId, AgentId, AttemptId, CampaignId},
    time::Timestamp,
};

/// Type of a test delivery. No event has it.
pub const WEBHOOK_TEST: &str = "webhook.test";

/// Type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountEventType {
    /// A call was dialed, or an inbound call was taken.
    CallStarted,
    /// A call was answered.
    CallAnswered,
    /// The agent wants a person: it begins to transfer the call, or tries to.
    CallPersonWanted,
    /// A call is over; also one that was never dialed.
    CallEnded,
    /// The analysis of a call is stored.
    CallAnalysed,
    /// A campaign was created.
    CampaignDraft,
    /// A campaign waits for its time.
    CampaignWaiting,
    /// A campaign dials.
    CampaignRunning,
    /// A campaign was paused.
    CampaignPaused,
    /// A campaign was stopped.
    CampaignStopped,
    /// Every contact of a campaign has its final outcome.
    CampaignCompleted,
    /// A campaign cannot go on.
    CampaignFailed,
    /// A campaign cannot dial at the moment.
    CampaignDelayed,
    /// A number was added to the do-not-call list.
    ContactOptedOut,
}

spelled!(AccountEventType, CallStarted "call.started", CallAnswered "call.answered",
    CallPersonWanted "call.person_wanted", CallEnded "call.ended",
    CallAnalysed "call.analysed", CampaignDraft "campaign.draft", CampaignWaiting "campaign.waiting",
    CampaignRunning "campaign.running", CampaignPaused "campaign.paused", CampaignStopped "campaign.stopped",
    CampaignCompleted "campaign.completed", CampaignFailed "campaign.failed", CampaignDelayed "campaign.delayed",
    ContactOptedOut "contact.opted_out");

impl AccountEventType {
    /// Returns the type of a campaign's change to this status.
    pub fn of_campaign(status: CampaignStatus) -> Self {
        match status {
            CampaignStatus::Draft => Self::CampaignDraft,
            CampaignStatus::Waiting => Self::CampaignWaiting,
            CampaignStatus::Running => Self::CampaignRunning,
            CampaignStatus::Paused => Self::CampaignPaused,
            CampaignStatus::Stopped => Self::CampaignStopped,
            CampaignStatus::Completed => Self::CampaignCompleted,
            CampaignStatus::Failed => Self::CampaignFailed,
            CampaignStatus::Delayed => Self::CampaignDelayed,
        }
    }
}

/// A choice of types: one type, a group such as `call.*`, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypePattern(String);

impl TypePattern {
    /// Parses a pattern. Returns `None` if it matches no type.
    pub fn parse(text: &str) -> Option<Self> {
        let pattern = Self(text.to_owned());
        let chooses = AccountEventType::ALL.into_iter().any(|one| pattern.matches(one));
        chooses.then_some(pattern)
    }

    /// Returns whether the pattern matches this type.
    pub fn matches(&self, event_type: AccountEventType) -> bool {
        let word = event_type.as_str();
        match self.0.strip_suffix('*') {
            None => word == self.0,
            Some(group) => (group.is_empty() || group.ends_with('.')) && word.starts_with(group),
        }
    }
}

/// An event of an account.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountEvent {
    /// Id of the event.
    pub id: AccountEventId,
    /// Place in the order of all events; later events have higher ones.
    pub place: i64,
    /// Type of the event.
    pub event_type: AccountEventType,
    /// Campaign of the event.
    pub campaign: Option<CampaignId>,
    /// Agent of the call or the campaign.
    pub agent: Option<AgentId>,
    /// Call of the event.
    pub attempt: Option<AttemptId>,
    /// Further fields of its data.
    pub detail: Map<String, Value>,
    /// Time of the event.
    pub created_at: Timestamp,
}

impl AccountEvent {
    /// Returns the JSON that streams and webhooks send.
    pub fn body(&self) -> Value {
        let mut data = Map::new();
        let ids = [
            ("conversationId", self.attempt.map(|id| json!(id))),
            ("campaignId", self.campaign.map(|id| json!(id))),
            ("agentId", self.agent.map(|id| json!(id))),
        ];
        data.extend(ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id?))));
        data.extend(self.detail.clone());
        json!({
            "type": self.event_type.as_str(),
            "timestamp": self.created_at.to_iso8601(),
            "data": data,
        })
    }
}

/// Facts of a call that its events report.
#[derive(Debug, Clone, PartialEq)]
pub struct CallForEvent {
    /// Direction of the call.
    pub direction: CallDirection,
    /// The other person at the start of the call.
    pub callee: CalleeRecord,
    /// Status of the call.
    pub status: ConversationStatus,
    /// Seconds from the answer to the end.
    pub duration_s: i64,
    /// Why the call failed or was cancelled.
    pub error: Option<String>,
    /// Whether voicemail answered.
    pub voicemail: bool,
    /// Whether the call was transferred.
    pub transferred: bool,
}

impl CallForEvent {
    /// Returns the members of the data of an event of the call.
    pub fn detail(self, event_type: AccountEventType) -> Map<String, Value> {
        let mut detail = Map::from_iter([
            ("direction".to_owned(), json!(self.direction)),
            ("contactName".to_owned(), json!(self.callee.contact_name)),
            ("variables".to_owned(), json!(self.callee.variables)),
        ]);
        if event_type == AccountEventType::CallEnded {
            detail.insert("status".into(), json!(self.status));
            detail.insert("conversationDuration".into(), json!(self.duration_s));
            detail.insert("voiceMailDetected".into(), json!(self.voicemail));
            detail.insert("callTransferred".into(), json!(self.transferred));
            if let Some(error) = self.error {
                detail.insert("errorMessage".into(), json!(error_kind(&error)));
            }
        }
        detail
    }
}

/// Returns the kind of a call's error, without the carrier's or a provider's own words, which may name a person.
pub fn error_kind(error: &str) -> &str {
    error.split_once(':').map_or(error, |(kind, _)| kind)
}

/// Events of accounts.
#[async_trait]
pub trait AccountEventStore: Send + Sync {
    /// Publishes the oldest new events, at most `limit`: gives them their places and creates their deliveries to
    /// webhook endpoints. Returns the number of events.
    async fn publish_events(&self, limit: i64) -> StoreResult<usize>;

    /// Returns the place of the account's last event; 0 if it has none.
    async fn last_event_place(&self, account: AccountId) -> StoreResult<i64>;

    /// Returns the account's published events after a place, in their order, at most `limit`.
    async fn events_after(&self, account: AccountId, place: i64, limit: i64) -> StoreResult<Vec<AccountEvent>>;

    /// Deletes those of the `limit` oldest events that were created before a time, with their deliveries, and
    /// tests and deliveries without their event of that age. Returns the number of rows.
    async fn forget_events(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_chooses_a_type_a_group_or_all() {
        let count = |text: &str| {
            let pattern = TypePattern::parse(text)?;
            let chosen = AccountEventType::ALL.iter().filter(|one| pattern.matches(**one));
            Some(chosen.count())
        };
        assert_eq!(count("*"), Some(AccountEventType::ALL.len()));
        assert_eq!((count("call.*"), count("campaign.*")), (Some(5), Some(8)));
        assert_eq!(count("contact.opted_out"), Some(1));
        for bad in [
            "",
            "call",
            "call.",
            "call*",
            "c*",
            "**",
            "call.**",
            "Call.ended",
            WEBHOOK_TEST,
            "webhook.*",
        ] {
            assert_eq!(count(bad), None, "{bad}");
        }
    }
}
