//! What a user may ask of a campaign.

use domain::{
    agent::Problem,
    id::{AgentId, CampaignId},
    ports::store::{CampaignStatus, FollowUp, ScheduleText},
};

/// A user's command for a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CampaignCommand {
    /// Dial now.
    Launch,
    /// Place no new call until launched again.
    Pause,
    /// Place no new call and cancel what waits.
    Stop {
        /// Also hang up the calls in progress.
        hang_up: bool,
    },
    /// Attach this schedule, the whole of it, and wait for its time.
    Schedule(ScheduleText),
    /// Change what the update names.
    Update(Box<CampaignUpdate>),
    /// Remove it from every list and read.
    Delete,
}

/// What a PATCH asks for, already valid field by field. None: leave as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CampaignUpdate {
    /// `name`.
    pub name: Option<String>,
    /// `agentId`; must belong to the account (checked by the caller).
    pub agent: Option<AgentId>,
    /// `followUp…`.
    pub follow_up: Option<FollowUp>,
    /// `maxConcurrentCalls`; an inner none takes the limit off.
    pub max_concurrent_calls: Option<Option<u32>>,
    /// `startTime`; an inner none clears it, here and below.
    pub start_time: Option<Option<String>>,
    /// `endTime`.
    pub end_time: Option<Option<String>>,
    /// `timezone`.
    pub timezone: Option<Option<String>>,
    /// A hidden import whose list replaces the campaign's.
    pub contacts: Option<CampaignId>,
    /// `scheduled`: attach the schedule and queue, or take it off.
    pub scheduled: Option<bool>,
    /// `active`: queue or launch, or stop.
    pub active: Option<bool>,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No such campaign in this account.
    #[error("campaign not found")]
    NotFound,
    /// Not possible in the present state.
    #[error("campaign is {}", .0.as_str())]
    InvalidTransition(CampaignStatus),
    /// It is running, or calls of it are live: not to be changed or removed.
    #[error("campaign is running")]
    Running,
    /// Fields that do not go together with what is stored.
    #[error("the request is invalid")]
    Invalid(Vec<Problem>),
    /// Every contact has been dialed.
    #[error("no contact is left to dial")]
    NothingToDial,
    /// What it needs is missing: the setting or thing, and what to do.
    #[error("{0}")]
    NotConfigured(String),
    /// The node takes no new work, or its database is away: try again.
    #[error("unavailable: {0}")]
    Unavailable(String),
}
