//! Campaigns, their contacts, their import and their state.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    attempts::{Outcome, REFUSALS_IN_A_ROW, REFUSED_PAUSE},
    directory::{Account, CampaignContact},
    error::StoreResult,
    idempotency::KeyTicket,
};
pub use crate::schedule::ScheduleText;
use crate::{
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId, AttemptId, CampaignId},
    phone_number::with_numbers_masked,
    schedule::Schedule,
    time::Timestamp,
};

/// State of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CampaignStatus {
    /// Created, never dialed.
    Draft,
    /// Its time has not come yet.
    Waiting,
    /// Dialing.
    Running,
    /// Paused, by the user or by the end of its window.
    Paused,
    /// Stopped by the user.
    Stopped,
    /// Every contact has its final outcome.
    Completed,
    /// It cannot go on; [`CampaignRow::reason`] says why.
    Failed,
    /// It should be dialing, but cannot at the moment.
    Delayed,
}

spelled!(CampaignStatus, Draft "draft", Waiting "waiting", Running "running", Paused "paused", Stopped "stopped",
    Completed "completed", Failed "failed", Delayed "delayed");

impl CampaignStatus {
    /// Returns whether the campaign dials nobody any more unless it is begun again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Stopped | Self::Completed | Self::Failed)
    }
}

/// Follow-up calls after an unsuccessful call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// Whether follow-up calls are made.
    pub enabled: bool,
    /// Number of follow-up calls.
    #[schema(value_type = i64)]
    pub attempts: u32,
    /// Minutes before each follow-up call.
    #[schema(value_type = Vec<i64>)]
    pub intervals_minutes: Vec<u32>,
}

/// A campaign to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCampaign {
    /// Name.
    pub name: String,
    /// Agent that calls; must belong to the account (checked by the caller).
    pub agent: AgentId,
    /// Schedule texts, stored as given.
    pub schedule: ScheduleText,
    /// Follow-ups.
    pub follow_up: FollowUp,
    /// Options.
    pub options: CampaignOptions,
}

/// A campaign's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// Id of the campaign.
    pub id: CampaignId,
    /// Account that owns the campaign.
    pub account: AccountId,
    /// Name.
    pub name: String,
    /// Agent that calls.
    pub agent: AgentId,
    /// State of the campaign.
    pub status: CampaignStatus,
    /// Increases by 1 with each change of state, and guards the next one.
    pub version: i64,
    /// `active` in REST: whether the campaign dials, or will by itself.
    pub active: bool,
    /// `scheduled` in REST: whether a schedule is attached.
    pub scheduled: bool,
    /// Schedule texts.
    pub schedule: ScheduleText,
    /// Time when dialing begins next.
    pub next_run_at: Option<Timestamp>,
    /// First opening of the attached schedule, found when it was attached; earlier windows do not count.
    pub opens_from: Option<Timestamp>,
    /// End of the window in which it runs; no permit is given after it.
    pub closes_at: Option<Timestamp>,
    /// Follow-ups.
    pub follow_up: FollowUp,
    /// Options.
    pub options: CampaignOptions,
    /// Number of contacts.
    pub contact_count: i64,
    /// Index of the first contact not yet dialed; the number of contacts if all were. Derived.
    pub start_index: i64,
    /// Reason for `failed` or `delayed`.
    pub reason: Option<String>,
    /// Time of creation; unique in the account.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl CampaignRow {
    /// Returns the attached schedule and its first opening.
    pub fn attached_schedule(&self) -> Option<(Schedule, Timestamp)> {
        let schedule = Schedule::parse(&self.schedule)
            .ok()
            .flatten()
            .filter(|_| self.scheduled)?;
        Some((schedule, self.opens_from?))
    }

    /// Returns why contacts cannot be called again so that this many attempts wait. Attempts of a stopped or failed
    /// campaign would wait where nobody could cancel them.
    pub fn calls_nobody_again(&self, waiting: i64) -> Option<String> {
        let status = self.status.as_str();
        match self.status {
            CampaignStatus::Stopped | CampaignStatus::Failed => Some(format!(
                "a {status} campaign calls nobody again; launch it first, or duplicate it"
            )),
            _ => (waiting > WAITING).then(|| {
                format!("{waiting} attempts would wait, at most {WAITING} may; call again once some have been dialed")
            }),
        }
    }

    /// Returns the state once there is more to dial, because of added contacts or contacts to call again. A
    /// completed campaign is paused, so that it can be launched. A waiting one dials at its next opening from
    /// `now` on. Every other state stays.
    pub fn with_more_to_dial(&self, now: Timestamp) -> StateChange {
        let opening = || {
            self.attached_schedule()
                .map_or(now, |(schedule, from)| schedule.opening(from, now).opens_at)
        };
        let (status, next_run_at) = match self.status {
            CampaignStatus::Completed => (CampaignStatus::Paused, None),
            CampaignStatus::Waiting => (self.status, Some(opening())),
            status => (status, self.next_run_at),
        };
        StateChange {
            status,
            next_run_at,
            ..self.unchanged()
        }
    }

    /// Returns the present state.
    pub fn unchanged(&self) -> StateChange {
        StateChange {
            status: self.status,
            active: self.active,
            scheduled: self.scheduled,
            next_run_at: self.next_run_at,
            opens_from: self.opens_from,
            closes_at: self.closes_at,
            reason: self.reason.clone(),
            cancel_waiting: false,
        }
    }

    /// Returns the state after `count` refusals for an unknown reason, the last one with this outcome. None if the
    /// campaign does not run or there were too few.
    pub fn after_refusals(&self, count: i64, last: &Outcome, now: Timestamp) -> Option<StateChange> {
        let delayed = self.status == CampaignStatus::Running && count >= REFUSALS_IN_A_ROW;
        let why = with_numbers_masked(last.error.as_deref().unwrap_or_default());
        let minutes = REFUSED_PAUSE.as_secs() / 60;
        delayed.then(|| StateChange {
            status: CampaignStatus::Delayed,
            next_run_at: Some(now.plus(REFUSED_PAUSE)),
            reason: Some(format!(
                "{why} ({count} times in a row); one contact is tried every {minutes} minutes until a call gets through"
            )),
            ..self.unchanged()
        })
    }
}

/// Maximum number of contacts of a campaign to which contacts are added.
pub const CONTACTS: i64 = 1_000_000;

/// Most waiting attempts of a campaign with which contacts are called again. Stopping a campaign cancels all that
/// wait in one commit.
pub const WAITING: i64 = 10_000;

/// Most positions listed in [`ContactsAdded::already_present_rows`].
pub const LISTED_ROWS: usize = 100;

/// Result of adding contacts to a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactsAdded {
    /// Id of the campaign.
    #[schema(value_type = String, format = "uuid")]
    pub campaign_id: CampaignId,
    /// Status of the campaign afterwards.
    pub status: CampaignStatus,
    /// Number of contacts afterwards.
    #[schema(minimum = 0)]
    pub contact_count: i64,
    /// Number of added contacts.
    #[schema(minimum = 0)]
    pub added: i64,
    /// Number of sent contacts that are not added because their phone number is in the campaign already.
    #[schema(minimum = 0)]
    pub already_present: i64,
    /// Positions of the first 100 of them in the request, counted from 1: rows of the file, or `contacts`
    /// followed by `contactIds`.
    pub already_present_rows: Vec<i64>,
}

/// Result of calling contacts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalledAgain {
    /// Id of the campaign.
    #[schema(value_type = String, format = "uuid")]
    pub campaign_id: CampaignId,
    /// Status of the campaign afterwards.
    pub status: CampaignStatus,
    /// Number of contacts that get another attempt.
    #[schema(minimum = 0)]
    pub contacts: i64,
}

/// Numbers of contacts by state.
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
    /// Completed contacts that reached a voicemail.
    #[schema(minimum = 0)]
    pub voicemail: i64,
}

/// Filters of the campaigns list.
#[derive(Debug, Clone, Default)]
pub struct CampaignFilter {
    /// Text that the name contains, in any case.
    pub name: Option<String>,
    /// State that the campaign must have.
    pub status: Option<CampaignStatus>,
    /// Value that `active` must have.
    pub active: Option<bool>,
    /// Only campaigns created before this instant (the cursor).
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
    /// Reason for `failed` and `delayed`.
    pub reason: Option<String>,
    /// Whether to cancel waiting attempts, as a stop does. Contacts that were dialed before end `cancelled`;
    /// the others return to `pending` without a conversation.
    pub cancel_waiting: bool,
}

/// New values of a campaign's fields. None leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CampaignEdit {
    /// Name.
    pub name: Option<String>,
    /// Agent that calls, also for waiting attempts; must belong to the account (checked by the caller).
    pub agent: Option<AgentId>,
    /// Schedule texts, all three.
    pub schedule: Option<ScheduleText>,
    /// Follow-ups.
    pub follow_up: Option<FollowUp>,
    /// Options, all of them.
    pub options: Option<CampaignOptions>,
    /// An import of the same account whose contacts replace the campaign's; this ends the import. Waiting
    /// attempts are cancelled as by a stop.
    pub contacts: Option<CampaignId>,
}

/// A campaign that dials, or will by itself, with the values by which a node notices a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveCampaign {
    /// Id of the campaign.
    pub id: CampaignId,
    /// Account that owns the campaign.
    pub account: AccountId,
    /// [`CampaignRow::version`].
    pub version: i64,
}

/// Campaigns.
#[async_trait]
pub trait CampaignStore: Send + Sync {
    /// Starts an import: a campaign that no reader sees yet.
    async fn begin_import(&self, account: AccountId, new: NewCampaign) -> StoreResult<CampaignId>;

    /// Appends contacts after the existing ones, at most 2,000 at a time, in a transaction of its own.
    async fn append_contacts(&self, import: CampaignId, contacts: &[CampaignContact]) -> StoreResult<()>;

    /// Makes the campaign visible as a draft, in one small commit.
    async fn finish_import(&self, import: CampaignId, ticket: Option<&KeyTicket>) -> StoreResult<CampaignRow>;

    /// Deletes an abandoned import. It is no error if the import is gone already.
    async fn abandon_import(&self, import: CampaignId) -> StoreResult<()>;

    /// Deletes the imports that dead nodes left behind, in one small commit, and returns their number. Their
    /// contacts are left to [`CampaignStore::sweep_lists`].
    async fn sweep_imports(&self) -> StoreResult<u64>;

    /// Deletes every list of contacts that no campaign references, in many small commits, and returns their
    /// number. Such a list remains after a swept import, after an abandoned import if the process ended, and
    /// after a campaign got another list.
    async fn sweep_lists(&self) -> StoreResult<u64>;

    /// Returns a campaign. Returns `NotFound`.
    async fn campaign(&self, account: AccountId, id: CampaignId) -> StoreResult<CampaignRow>;

    /// Returns a campaign's contacts from index `from`, at most `limit`.
    async fn campaign_contacts(&self, id: CampaignId, from: i64, limit: i64) -> StoreResult<Vec<CampaignContact>>;

    /// Returns the numbers of a campaign's contacts by state.
    async fn progress(&self, id: CampaignId) -> StoreResult<Progress>;

    /// Returns the account's campaigns, newest first, at most `limit`.
    async fn campaigns(&self, account: AccountId, filter: CampaignFilter, limit: i64) -> StoreResult<Vec<CampaignRow>>;

    /// Changes the state in one guarded UPDATE. Returns `NotFound`, `Stale`.
    async fn change_state(&self, id: CampaignId, version: i64, change: StateChange) -> StoreResult<CampaignRow>;

    /// Changes fields and state in one guarded commit. Returns `NotFound` (also if the import is gone), `Stale`.
    async fn update_campaign(
        &self,
        id: CampaignId,
        version: i64,
        edit: CampaignEdit,
        change: StateChange,
    ) -> StoreResult<CampaignRow>;

    /// Adds the contacts of an import of the same account, in one commit that ends the import and settles the
    /// ticket. Skips numbers that the campaign has already. Returns `NotFound` if the campaign or the import is gone,
    /// `Refused` if there would be more than [`CONTACTS`].
    async fn add_contacts(
        &self,
        id: CampaignId,
        import: CampaignId,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactsAdded>;

    /// Plans another attempt, due at once, for the contacts of these attempts, at most 50, in one commit. An
    /// attempt that is not the last of its contact, or whose contact has no final outcome, is left out. The
    /// ticket is settled with the result, to which the contacts of earlier commits are added. Returns `NotFound`,
    /// `Refused` with the reason if the campaign was stopped or failed, or if more than [`WAITING`] attempts
    /// would wait.
    async fn call_again(
        &self,
        id: CampaignId,
        last: &[AttemptId],
        earlier: i64,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<CalledAgain>;

    /// Hides the campaign from every read except those of its conversations, and cancels waiting attempts.
    /// Returns `NotFound`, `Stale`.
    async fn delete_campaign(&self, id: CampaignId, version: i64) -> StoreResult<()>;

    /// Returns the campaigns of all accounts that a node must take up when it starts: waiting, running,
    /// delayed, and active paused ones.
    async fn active_campaigns(&self) -> StoreResult<Vec<CampaignRow>>;

    /// Returns the ids and versions of the same campaigns, for frequent polling.
    async fn active_versions(&self) -> StoreResult<Vec<ActiveCampaign>>;

    /// Requests that the calls of a campaign stopped with this version are hung up, on whatever nodes they are.
    async fn want_hang_up(&self, id: CampaignId, version: i64) -> StoreResult<()>;

    /// Returns whether that was requested.
    async fn hang_up_wanted(&self, id: CampaignId, version: i64) -> StoreResult<bool>;

    /// Returns the owner of a campaign, for rows that name their creator.
    async fn account(&self, id: AccountId) -> StoreResult<Account>;
}
