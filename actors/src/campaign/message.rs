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
        /// What to do.
        command: CampaignCommand,
        /// Answered after the commit.
        reply: RpcReplyPort<Result<CampaignRow, CommandError>>,
    },
    /// What the line pool tells.
    Lines(LinesNotice),
    /// The line pool was restarted: attach again.
    LinesRestarted,
    /// Look again for something to do (a timer).
    Tick,
    /// Place no new call; the node is going down.
    Drain,
    /// The agent was read, own.
    AgentRead {
        /// Generation.
        generation: u64,
        /// The agent.
        agent: Result<AgentRow, StoreError>,
    },
    /// Claims arrived, own.
    Claimed {
        /// Generation.
        generation: u64,
        /// How many lines were set aside for them.
        lines: usize,
        /// The attempts; those not handed on to a call go back to the queue.
        attempts: Result<HeldClaims, StoreError>,
    },
    /// Nothing was claimed: no call could be held now, own.
    ProvidersDown {
        /// Generation.
        generation: u64,
        /// How many lines were set aside.
        lines: usize,
        /// Why, for a client.
        reason: String,
    },
    /// Whether calls could be held again, own.
    ProvidersAsked {
        /// They could.
        well: bool,
    },
    /// A guarded state change was committed or refused, own. Only one is under way at a time.
    StateChanged {
        /// The row as it is now, as far as it was read.
        latest: CampaignRow,
        /// Whether the change was made.
        changed: Result<(), CommandError>,
    },
    /// Other nodes work on it too, or do no more.
    OtherNodes(bool),
    /// Its version in the store; none when it is not active there.
    Seen(Option<i64>),
    /// The row was read again, own.
    RowRead(CampaignRow),
    /// What is left to do was counted, own.
    Counted {
        /// Generation.
        generation: u64,
        /// The count.
        remaining: Result<Remaining, StoreError>,
    },
    /// How the campaign stands.
    Inspect(RpcReplyPort<CampaignSnapshot>),
    /// Panics, for tests of supervision.
    #[cfg(feature = "testkit")]
    Sabotage,
}

/// A campaign reports that it rests, without calls and without work: its actor may end, if it has seen every command.
pub struct Resting {
    /// Which.
    pub campaign: CampaignId,
    /// How many commands it has taken.
    pub commands: u64,
}

/// A campaign actor at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignSnapshot {
    /// State.
    pub status: CampaignStatus,
    /// Calls it has running.
    pub live_calls: usize,
}
