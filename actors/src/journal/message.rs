//! Messages to the journal, and what it shows to those who watch.

use ractor::RpcReplyPort;

use domain::{
    id::{AttemptId, CampaignId},
    ports::store::{Fact, StoreError},
};

/// Messages to the journal.
pub enum JournalMessage {
    /// A fact was put into the backlog.
    Recorded,
    /// Answer once everything recorded before is on disk.
    Flush(RpcReplyPort<()>),
    /// The batch's time is up, own.
    Tick,
    /// A batch was written, or not, and the backlog says so already, own.
    Written(Result<(), StoreError>),
}

/// A fact as it happens, for live views. May be missed by a slow reader; the store has it all.
#[derive(Debug, Clone)]
pub struct LiveFact {
    /// Its call.
    pub attempt: AttemptId,
    /// The call's campaign, if it belongs to one.
    pub campaign: Option<CampaignId>,
    /// The fact.
    pub fact: Fact,
}
