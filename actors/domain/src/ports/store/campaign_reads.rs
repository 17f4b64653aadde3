//! What readers ask about a campaign's contacts and calls, beside its row.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use super::{ContactRow, ConversationStatus, StoreResult};
use crate::{
    id::{AccountId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// Where a contact of a campaign stands.
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

/// Who is called in a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    /// E.164.
    pub phone_number: PhoneNumber,
    /// Name, when given.
    pub name: Option<String>,
    /// The saved contact with this number, if there is one now.
    pub contact: Option<ContactId>,
}

/// What became of a contact so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactResult {
    /// Its place in the campaign, from 0.
    pub index: i64,
    /// Who.
    pub who: Callee,
    /// How it stands.
    pub status: ContactStatus,
    /// Its last attempt, planned ones included; none before the first.
    pub last: Option<LastAttempt>,
}

/// Some contacts of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactPage {
    /// Tells these contacts from those that the campaign had before or gets later.
    pub list: i64,
    /// In the order of their indexes.
    pub results: Vec<ContactResult>,
}

/// The last attempt of a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    /// Its conversation.
    pub id: AttemptId,
    /// Counts from 1: how many attempts the contact has.
    pub number: i64,
    /// Why it failed.
    pub error: Option<String>,
    /// A machine answered.
    pub voicemail: bool,
    /// Entity to value.
    pub collected: BTreeMap<String, String>,
}

/// A conversation of a campaign as of its last change of status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedConversation {
    /// The attempt.
    pub id: AttemptId,
    /// Its status now.
    pub status: ConversationStatus,
    /// Who is called.
    pub who: Callee,
    /// When it came to that status: planned, dialed or ended.
    pub changed_at: Timestamp,
}

/// Reads about campaigns. Every one of them is answered by an index, whatever the size of the campaign.
#[async_trait]
pub trait CampaignReadStore: Send + Sync {
    /// The contacts from index `from` on, only those of a status if one is given, in order, at most `limit`.
    /// `NotFound`.
    async fn contact_results(
        &self,
        campaign: CampaignId,
        status: Option<ContactStatus>,
        from: i64,
        limit: i64,
    ) -> StoreResult<ContactPage>;

    /// The conversations behind `after` in the order of their last change of status, at most `limit`. A claim that
    /// has not been dialed is none yet: it may go without a trace.
    async fn changed_conversations(
        &self,
        campaign: CampaignId,
        after: (Timestamp, AttemptId),
        limit: i64,
    ) -> StoreResult<Vec<ChangedConversation>>;

    /// The `newest` conversations by their last change of status, and every one in progress however old, in the order
    /// of that change: what a reader is shown before the changes to come.
    async fn latest_conversations(&self, campaign: CampaignId, newest: i64) -> StoreResult<Vec<ChangedConversation>>;

    /// The account's saved contacts with these numbers, in no order.
    async fn saved_by_number(&self, account: AccountId, numbers: &[PhoneNumber]) -> StoreResult<Vec<ContactRow>>;

    /// The account's saved contacts with these ids, in no order; unknown ones are left out.
    async fn saved_by_id(&self, account: AccountId, ids: &[ContactId]) -> StoreResult<Vec<ContactRow>>;
}
