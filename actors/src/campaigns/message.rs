//! Messages to the campaign supervisor.

use ractor::RpcReplyPort;

use crate::campaign::{CampaignCommand, CommandError, Resting};
use domain::{
    id::{AccountId, CampaignId},
    ports::store::{ActiveCampaign, CampaignRow},
};

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
    /// A campaign rests.
    Resting(Resting),
    /// The line pool was restarted: every campaign attaches again.
    LinesRestarted,
    /// Other nodes live on the same store, or do no more: what they change is looked for.
    OtherNodes(bool),
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
