//! Campaigns, their contacts, their import and their state.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Account, KeyTicket, StoreResult};
pub use crate::schedule::ScheduleText;
use crate::{
    id::{AccountId, AgentId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    schedule::Schedule,
    time::Timestamp,
};

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CampaignStatus {
    /// Made, never dialed.
    Draft,
    /// Its time is still to come.
    Waiting,
    /// Dialing.
    Running,
    /// Paused, by the user or by the end of its window.
    Paused,
    /// Stopped by the user.
    Stopped,
    /// Every contact has its final outcome.
    Completed,
    /// It cannot go on.
    Failed,
    /// It should be dialing and cannot for the moment.
    Delayed,
}

spelled!(CampaignStatus, Draft "draft", Waiting "waiting", Running "running", Paused "paused", Stopped "stopped",
    Completed "completed", Failed "failed", Delayed "delayed");

/// Calls after an unsuccessful one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// Whether there are any.
    pub enabled: bool,
    /// How many.
    #[schema(value_type = i64)]
    pub attempts: u32,
    /// Minutes before each.
    #[schema(value_type = Vec<i64>)]
    pub intervals_minutes: Vec<u32>,
}

/// A campaign to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCampaign {
    /// Name.
    pub name: String,
    /// Who dials; must belong to the account (checked by the caller).
    pub agent: AgentId,
    /// Schedule texts, kept as given.
    pub schedule: ScheduleText,
    /// Follow-ups.
    pub follow_up: FollowUp,
    /// At most so many calls at once; none for as many as there are lines.
    pub max_concurrent_calls: Option<u32>,
}

/// A campaign's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// Its id.
    pub id: CampaignId,
    /// Its owner.
    pub account: AccountId,
    /// Name.
    pub name: String,
    /// Who dials.
    pub agent: AgentId,
    /// State.
    pub status: CampaignStatus,
    /// +1 with each change of state; guards the next one.
    pub version: i64,
    /// `active`.
    pub active: bool,
    /// `scheduled`.
    pub scheduled: bool,
    /// Schedule texts.
    pub schedule: ScheduleText,
    /// When dialing next begins.
    pub next_run_at: Option<Timestamp>,
    /// The first opening of the attached schedule, found when it was attached: no window before it counts.
    pub opens_from: Option<Timestamp>,
    /// When the window closes in which it runs: no permit is given from then on.
    pub closes_at: Option<Timestamp>,
    /// Follow-ups.
    pub follow_up: FollowUp,
    /// Calls at once.
    pub max_concurrent_calls: Option<u32>,
    /// How many contacts.
    pub contact_count: i64,
    /// Index of the first contact not yet dialed; the count when all were. Derived.
    pub start_index: i64,
    /// Why it is `failed` or `delayed`.
    pub reason: Option<String>,
    /// Made; unique in the account.
    pub created_at: Timestamp,
    /// Last changed.
    pub updated_at: Timestamp,
}

impl CampaignRow {
    /// The schedule that is attached, and its first opening.
    pub fn attached_schedule(&self) -> Option<(Schedule, Timestamp)> {
        let schedule = Schedule::parse(&self.schedule)
            .ok()
            .flatten()
            .filter(|_| self.scheduled)?;
        Some((schedule, self.opens_from?))
    }
}

/// One contact of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignContact {
    /// E.164.
    pub phone_number: PhoneNumber,
    /// The saved contact with this number, if there is one (filled in by the store).
    pub contact: Option<ContactId>,
    /// Name.
    pub name: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Every other field; dynamic variables.
    pub extra: Map<String, Value>,
}

/// Contacts by how far they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Still to be called.
    #[schema(minimum = 0)]
    pub pending: i64,
    /// Being called.
    #[schema(minimum = 0)]
    pub in_progress: i64,
    /// Reached, voicemail included.
    #[schema(minimum = 0)]
    pub completed: i64,
    /// Not reached.
    #[schema(minimum = 0)]
    pub failed: i64,
    /// Stopped before they were called.
    #[schema(minimum = 0)]
    pub cancelled: i64,
    /// How many of the completed are voicemail.
    #[schema(minimum = 0)]
    pub voicemail: i64,
}

/// Filters of the campaigns list.
#[derive(Debug, Clone, Default)]
pub struct CampaignFilter {
    /// Name contains, any case.
    pub name: Option<String>,
    /// State.
    pub status: Option<CampaignStatus>,
    /// `active`.
    pub active: Option<bool>,
    /// Only those made before this instant (the cursor).
    pub before: Option<Timestamp>,
}

/// A guarded change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The new state.
    pub status: CampaignStatus,
    /// The new `active`.
    pub active: bool,
    /// The new `scheduled`.
    pub scheduled: bool,
    /// The new `nextRunAt`.
    pub next_run_at: Option<Timestamp>,
    /// The new [`CampaignRow::opens_from`].
    pub opens_from: Option<Timestamp>,
    /// The new [`CampaignRow::closes_at`].
    pub closes_at: Option<Timestamp>,
    /// Why, for `failed` and `delayed`.
    pub reason: Option<String>,
    /// Cancel attempts that wait (a stop): their contacts end `cancelled` if they were dialed before, else go back
    /// to `pending` without a conversation.
    pub cancel_waiting: bool,
}

/// New values of a campaign's fields. None: leave as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CampaignEdit {
    /// Name.
    pub name: Option<String>,
    /// Who dials, attempts that wait included; must belong to the account (checked by the caller).
    pub agent: Option<AgentId>,
    /// Schedule texts, all three.
    pub schedule: Option<ScheduleText>,
    /// Follow-ups.
    pub follow_up: Option<FollowUp>,
    /// Calls at once; an inner none for as many as there are lines.
    pub max_concurrent_calls: Option<Option<u32>>,
    /// An import of the same account whose contacts replace the campaign's; it ends with this. Attempts that wait
    /// are cancelled as by a stop.
    pub contacts: Option<CampaignId>,
}

/// A campaign that dials, or will by itself, as far as a node must know to notice a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveCampaign {
    /// Its id.
    pub id: CampaignId,
    /// Its owner.
    pub account: AccountId,
    /// [`CampaignRow::version`].
    pub version: i64,
}

/// Campaigns.
#[async_trait]
pub trait CampaignStore: Send + Sync {
    /// Starts an import: a campaign no reader sees yet.
    async fn begin_import(&self, account: AccountId, new: NewCampaign) -> StoreResult<CampaignId>;

    /// Appends contacts behind those already there, at most 2,000 at a time, in a transaction of its own.
    async fn append_contacts(&self, import: CampaignId, contacts: &[CampaignContact]) -> StoreResult<()>;

    /// Makes the campaign visible as a draft, in one small commit.
    async fn finish_import(&self, import: CampaignId, ticket: Option<&KeyTicket>) -> StoreResult<CampaignRow>;

    /// Removes an import that was given up. One that is gone already is no error.
    async fn abandon_import(&self, import: CampaignId) -> StoreResult<()>;

    /// Removes the imports that dead nodes left behind, in one small commit; returns how many. Their contacts are left to [`CampaignStore::sweep_lists`].
    async fn sweep_imports(&self) -> StoreResult<u64>;

    /// Removes every list of contacts that no campaign points at, in many small commits; returns how many. Such a list
    /// is left by a swept import, by an abandoned one when the process ended, and by a campaign that got another list.
    async fn sweep_lists(&self) -> StoreResult<u64>;

    /// One campaign. `NotFound`.
    async fn campaign(&self, account: AccountId, id: CampaignId) -> StoreResult<CampaignRow>;

    /// Its contacts from index `from`, at most `limit`.
    async fn campaign_contacts(&self, id: CampaignId, from: i64, limit: i64) -> StoreResult<Vec<CampaignContact>>;

    /// How its contacts stand.
    async fn progress(&self, id: CampaignId) -> StoreResult<Progress>;

    /// The account's campaigns, newest first, at most `limit`.
    async fn campaigns(&self, account: AccountId, filter: CampaignFilter, limit: i64) -> StoreResult<Vec<CampaignRow>>;

    /// One guarded UPDATE of the state. `NotFound`, `Stale`.
    async fn change_state(&self, id: CampaignId, version: i64, change: StateChange) -> StoreResult<CampaignRow>;

    /// Fields and state in one guarded commit. `NotFound` (also when the import is gone), `Stale`.
    async fn update_campaign(
        &self,
        id: CampaignId,
        version: i64,
        edit: CampaignEdit,
        change: StateChange,
    ) -> StoreResult<CampaignRow>;

    /// Takes the campaign out of every read but those of its conversations; attempts that wait are cancelled.
    /// `NotFound`, `Stale`.
    async fn delete_campaign(&self, id: CampaignId, version: i64) -> StoreResult<()>;

    /// Every campaign of every account that a node must take up at its start: waiting, running, delayed, and active
    /// paused ones.
    async fn active_campaigns(&self) -> StoreResult<Vec<CampaignRow>>;

    /// The same campaigns, for a node to ask often.
    async fn active_versions(&self) -> StoreResult<Vec<ActiveCampaign>>;

    /// The calls of a campaign that was stopped with this version are to be hung up, on whatever nodes they are.
    async fn want_hang_up(&self, id: CampaignId, version: i64) -> StoreResult<()>;

    /// Whether that is so.
    async fn hang_up_wanted(&self, id: CampaignId, version: i64) -> StoreResult<bool>;

    /// The owner of a campaign, for rows that name their maker.
    async fn account(&self, id: AccountId) -> StoreResult<Account>;
}
