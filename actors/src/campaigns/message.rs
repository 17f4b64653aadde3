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
        /// Account that owns the campaign.
        account: AccountId,
        /// Id of the campaign.
        campaign: CampaignId,
        /// The command.
        command: CampaignCommand,
        /// Answered after the commit.
        reply: RpcReplyPort<Result<CampaignRow, CommandError>>,
    },
    /// Takes up every active campaign of the store (at start).
    Resume,
    /// Stops dialing everywhere and refuses commands that dial.
    Drain,
    /// A child is gone (sent to itself from a supervision event).
    ChildGone {
        /// Id of its campaign.
        campaign: CampaignId,
        /// Whether it panicked. Then it is restarted from the store.
        crashed: bool,
    },
    /// A campaign rests.
    Resting(Resting),
    /// The line pool was restarted: every campaign attaches again.
    LinesRestarted,
    /// Tells whether other nodes use the same store. If so, their changes are polled.
    OtherNodes(bool),
    /// Rows were changed outside the campaigns' actors, which must read them again.
    LookAgain,
    /// The active campaigns of the store, sent by the supervisor's own task.
    Active(Vec<ActiveCampaign>),
    /// Result of a read from the store, sent by the supervisor's own task.
    Loaded(Box<LoadedCampaign>),
    /// Asks for the number of campaign actors.
    Inspect(RpcReplyPort<usize>),
    /// Makes a campaign's actor panic, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage(CampaignId),
}

/// A campaign read from the store, and the command that waited for it.
pub struct LoadedCampaign {
    /// Id of the campaign.
    pub campaign: CampaignId,
    /// The row, or the reason why there is none.
    pub row: Result<CampaignRow, CommandError>,
    /// The command that caused the read.
    pub command: Option<(CampaignCommand, RpcReplyPort<Result<CampaignRow, CommandError>>)>,
}
