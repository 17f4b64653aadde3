//! Reads about a campaign's contacts and calls, in addition to its row.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use super::{
    attempts::ConversationStatus, callee_record::CalleeRecord, directory::ContactRow, error::StoreResult,
    records::EvidenceOfValues,
};
use crate::{
    id::{AccountId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// State of a contact in its campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContactStatus {
    /// Not yet dialed, or a further attempt lies ahead.
    Pending,
    /// Being called now.
    InProgress,
    /// Final: answered, voicemail included.
    Completed,
    /// Final: not reached.
    Failed,
    /// Final: never dialed and never will be.
    Cancelled,
}

spelled!(ContactStatus, Pending "pending", InProgress "in_progress", Completed "completed", Failed "failed",
    Cancelled "cancelled");

/// Contact to call in a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    /// Number in E.164.
    pub phone_number: PhoneNumber,
    /// Name, if given.
    pub name: Option<String>,
    /// The saved contact with this number, if there is one now.
    pub contact: Option<ContactId>,
}

/// Filter of a campaign's contacts.
#[derive(Debug, Clone, Default)]
pub struct ResultFilter {
    /// State of the contact.
    pub status: Option<ContactStatus>,
    /// Text contained in the name in any case, or in the number. Letters other than those of ASCII match any letter.
    pub search: Option<String>,
}

impl From<Option<ContactStatus>> for ResultFilter {
    fn from(status: Option<ContactStatus>) -> Self {
        Self { status, search: None }
    }
}

/// Result of a contact so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactResult {
    /// Index in the campaign, from 0.
    pub index: i64,
    /// The contact.
    pub who: Callee,
    /// State of the contact.
    pub status: ContactStatus,
    /// Its last attempt, planned ones included; none before the first.
    pub last: Option<LastAttempt>,
}

/// Part of a campaign's contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactPage {
    /// Id of the list, which distinguishes these contacts from those that the campaign had before or gets later.
    pub list: i64,
    /// The contacts in the order of their indexes.
    pub results: Vec<ContactResult>,
}

/// The last attempt of a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    /// Id of its conversation.
    pub id: AttemptId,
    /// Number of the attempt, counted from 1.
    pub number: i64,
    /// Reason for its failure.
    pub error: Option<String>,
    /// Whether a machine answered.
    pub voicemail: bool,
    /// Collected values by entity.
    pub collected: BTreeMap<String, String>,
    /// Evidence for them, after the analysis.
    pub evidence: EvidenceOfValues,
}

/// A conversation of a campaign with its last change of status.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedConversation {
    /// Id of the conversation.
    pub id: AttemptId,
    /// Present status of the conversation.
    pub status: ConversationStatus,
    /// Contact that is called.
    pub who: Callee,
    /// The same person at the start of the call.
    pub callee: CalleeRecord,
    /// Time when it reached that status: when it was planned, dialed or ended.
    pub changed_at: Timestamp,
}

/// Dials of a campaign in the last minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentDials {
    /// Number of dials.
    pub dials: i64,
    /// Time of the first of them.
    pub first: Option<Timestamp>,
    /// Present time of the store.
    pub now: Timestamp,
}

/// Reads about campaigns. An index answers each of them but searches, whatever the size of the campaign.
#[async_trait]
pub trait CampaignReadStore: Send + Sync {
    /// Returns the contacts that match from index `from` on in order, at most `limit`. Returns `NotFound`.
    async fn contact_results(
        &self,
        campaign: CampaignId,
        filter: ResultFilter,
        from: i64,
        limit: i64,
    ) -> StoreResult<ContactPage>;

    /// Returns the campaign's dials in the last `minutes`.
    async fn recent_dials(&self, campaign: CampaignId, minutes: i64) -> StoreResult<RecentDials>;

    /// Returns the conversations behind the time and id in the order of their last change of status, at most `limit`.
    /// A claim that has not been dialed is left out, because it may disappear without a trace.
    async fn changed_conversations(
        &self,
        campaign: CampaignId,
        after: Timestamp,
        after_id: AttemptId,
        limit: i64,
    ) -> StoreResult<Vec<ChangedConversation>>;

    /// Returns the `newest` conversations by their last change of status, and every one in progress however
    /// old, in the order of that change. Readers get these before the changes that follow.
    async fn latest_conversations(&self, campaign: CampaignId, newest: i64) -> StoreResult<Vec<ChangedConversation>>;

    /// Returns the account's saved contacts with these numbers, in no order.
    async fn saved_by_number(&self, account: AccountId, numbers: &[PhoneNumber]) -> StoreResult<Vec<ContactRow>>;

    /// Returns the account's saved contacts with these ids, in no order; unknown ids are left out.
    async fn saved_by_id(&self, account: AccountId, ids: &[ContactId]) -> StoreResult<Vec<ContactRow>>;
}
