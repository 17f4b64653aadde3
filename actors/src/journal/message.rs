//! Messages to the journal, and the facts it sends to live views.

use ractor::RpcReplyPort;

use domain::{
    id::{AttemptId, CampaignId},
    ports::store::{Fact, StoreError},
};

/// Messages to the journal.
pub enum JournalMessage {
    /// A fact was added to the backlog.
    Recorded,
    /// Answers once everything recorded before is on disk.
    Flush(RpcReplyPort<()>),
    /// The batch's time is up, sent by the journal to itself.
    Tick,
    /// A batch was written or not, and the backlog is updated already. Sent by the journal's own task.
    Written(Result<(), StoreError>),
}

/// A fact for live views. A slow reader may miss it; the store has all facts.
#[derive(Debug, Clone)]
pub struct LiveFact {
    /// The call's attempt.
    pub attempt: AttemptId,
    /// The call's campaign, if it belongs to one.
    pub campaign: Option<CampaignId>,
    /// The fact.
    pub fact: Fact,
}
