//! Messages to the campaign supervisor.

use ractor::RpcReplyPort;

use domain::{
    agent::Problem,
    id::{AccountId, AgentId, CampaignId},
    ports::store::{ActiveCampaign, CampaignRow, CampaignStatus, FollowUp, ScheduleText},
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

/// Messages to the campaign supervisor.
pub enum CampaignsMessage {
    /// A user's command.
    Command {
        /// Owner.
        account: AccountId,
        /// Campaign.
        campaign: CampaignId,
        /// What to do.
        command: CampaignCommand,
        /// Answered after the commit.
        reply: RpcReplyPort<Result<CampaignRow, CommandError>>,
    },
    /// Take up every active campaign of the store (at start).
    Resume,
    /// Stop dialing everywhere; refuse commands that dial.
    Drain,
    /// A child is gone (sent to itself from a supervision event).
    ChildGone {
        /// Which.
        campaign: CampaignId,
        /// It panicked; restart it from the store.
        crashed: bool,
    },
    /// A campaign rests, without calls and without work: its actor may end, if it has seen every command.
    Resting {
        /// Which.
        campaign: CampaignId,
        /// How many commands it has taken.
        commands: u64,
    },
    /// The line pool was restarted: every campaign attaches again.
    LinesRestarted,
    /// Other nodes live on the same store, or do no more: what they change is looked for.
    Company(bool),
    /// Rows were changed beside the campaigns' actors: they are told which.
    LookAgain,
    /// The campaigns of the store that are active, own.
    Active(Vec<ActiveCampaign>),
    /// Result of a read from the store, own.
    Loaded(Box<LoadedCampaign>),
    /// How many campaign actors there are.
    Inspect(RpcReplyPort<usize>),
    /// Makes a campaign's actor panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage(CampaignId),
}

/// A campaign read from the store, and the command that waited for it.
pub struct LoadedCampaign {
    /// Which.
    pub campaign: CampaignId,
    /// The row, or why there is none.
    pub row: Result<CampaignRow, CommandError>,
    /// The command that made us read it.
    pub command: Option<(CampaignCommand, RpcReplyPort<Result<CampaignRow, CommandError>>)>,
}
