//! Messages to a campaign.

use ractor::RpcReplyPort;
use serde::Serialize;

use super::{CampaignCommand, CommandError};
use crate::lines::{HeldClaims, LinesNotice};
use domain::{
    id::CampaignId,
    ports::store::{AgentRow, CampaignRow, CampaignStatus, Remaining, StoreError},
};

/// Messages to a campaign. Results of its own tasks carry the generation they belong to; stale ones are dropped.
pub enum CampaignMessage {
    /// A user's command.
    Command {
        /// The command.
        command: CampaignCommand,
        /// Answered after the commit.
        reply: RpcReplyPort<Result<CampaignRow, CommandError>>,
    },
    /// A notice of the line pool.
    Lines(LinesNotice),
    /// The line pool was restarted: the campaign must attach again.
    LinesRestarted,
    /// A timer fired: look for something to do.
    Tick,
    /// The node is shutting down: place no new calls.
    Drain,
    /// The agent was read, sent by the campaign's own task.
    AgentRead {
        /// Generation.
        generation: u64,
        /// The agent's row.
        agent: Result<AgentRow, StoreError>,
    },
    /// Claims arrived, sent by the campaign's own task.
    Claimed {
        /// Generation.
        generation: u64,
        /// Number of lines set aside for them.
        lines: usize,
        /// The attempts. Those not handed to a call return to the queue.
        attempts: Result<HeldClaims, StoreError>,
    },
    /// Nothing was claimed because no call could be held now, sent by the campaign's own task.
    ProvidersDown {
        /// Generation.
        generation: u64,
        /// Number of lines set aside.
        lines: usize,
        /// Reason, shown to users.
        reason: String,
    },
    /// Tells whether calls could be held again, sent by the campaign's own task.
    ProvidersAsked {
        /// Whether they could.
        well: bool,
    },
    /// A guarded state change was committed or refused, sent by the campaign's own task. Only one is in
    /// progress at a time.
    StateChanged {
        /// The row as it is now, as far as it was read.
        latest: CampaignRow,
        /// Whether the change was made.
        changed: Result<(), CommandError>,
    },
    /// Tells whether other nodes work on the campaign too.
    OtherNodes(bool),
    /// The campaign's version in the store, or `None` if it is not active there.
    Seen(Option<i64>),
    /// The row was read again, sent by the campaign's own task.
    RowRead(CampaignRow),
    /// The remaining work was counted, sent by the campaign's own task.
    Counted {
        /// Generation.
        generation: u64,
        /// The count.
        remaining: Result<Remaining, StoreError>,
    },
    /// Asks for a snapshot of the campaign.
    Inspect(RpcReplyPort<CampaignSnapshot>),
    /// Panics, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage,
}

/// Report that a campaign rests, without calls and work. Its actor may end if it has seen every command.
pub struct Resting {
    /// Id of the campaign.
    pub campaign: CampaignId,
    /// Number of commands it has taken.
    pub commands: u64,
}

/// A snapshot of a campaign actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSnapshot {
    /// The campaign's status.
    pub status: CampaignStatus,
    /// Number of live calls.
    pub live_calls: usize,
}
