//! Commands that a user may give to a campaign.

use domain::{
    agent::Problem,
    campaign_options::CampaignOptions,
    id::{AgentId, CampaignId},
    ports::store::{CampaignStatus, FollowUp, ScheduleText},
};

/// A user's command for a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CampaignCommand {
    /// Dials now.
    Launch,
    /// Places no new calls until the next launch.
    Pause,
    /// Places no new calls and cancels waiting attempts.
    Stop {
        /// Whether the calls in progress are hung up too.
        hang_up: bool,
    },
    /// Attaches this complete schedule and waits for its time.
    Schedule(ScheduleText),
    /// Changes the fields named in the update.
    Update(Box<CampaignUpdate>),
    /// Removes the campaign from all lists and reads.
    Delete,
}

/// Fields of a PATCH, each already validated. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CampaignUpdate {
    /// Version that the campaign must have; `None` for any.
    pub version: Option<i64>,
    /// `name`.
    pub name: Option<String>,
    /// `agentId`. The caller has checked that it belongs to the account.
    pub agent: Option<AgentId>,
    /// `followUp…`.
    pub follow_up: Option<FollowUp>,
    /// Options; one that is missing stays.
    pub options: CampaignOptions,
    /// `startTime`. An inner `None` clears it, as in the following fields.
    pub start_time: Option<Option<String>>,
    /// `endTime`.
    pub end_time: Option<Option<String>>,
    /// `timezone`.
    pub timezone: Option<Option<String>>,
    /// Hidden import whose list replaces the campaign's contacts.
    pub contacts: Option<CampaignId>,
    /// `scheduled`: attaches the schedule and queues the campaign, or removes the schedule.
    pub scheduled: Option<bool>,
    /// `active`: queues or launches the campaign, or stops it.
    pub active: Option<bool>,
}

/// Reason why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The account has no such campaign.
    #[error("campaign not found")]
    NotFound,
    /// The command is not possible in the present state.
    #[error("campaign is {}", .0.as_str())]
    InvalidTransition(CampaignStatus),
    /// The campaign is running or has live calls, so it cannot be changed or removed.
    #[error("campaign is running")]
    Running,
    /// The campaign does not have the version that the update expects; contains the present one.
    #[error("campaign has version {0}")]
    Stale(i64),
    /// The fields contradict each other or stored fields.
    #[error("the request is invalid")]
    Invalid(Vec<Problem>),
    /// Every contact has been dialed.
    #[error("no contact is left to dial")]
    NothingToDial,
    /// Something required is missing. The text names the setting or thing, and the remedy.
    #[error("{0}")]
    NotConfigured(String),
    /// The node takes no new work, or its database is unavailable. The caller may try again.
    #[error("unavailable: {0}")]
    Unavailable(String),
}
