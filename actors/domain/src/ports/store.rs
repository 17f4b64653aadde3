//! The store: every row of the service behind one port, split by subject.
//!
//! Decisions (claim, permit, outcome, state change) are acknowledged: when a method returns, the row is on disk.
//! The store has its own clock; callers never pass the present time.

mod appointments;
mod attempts;
mod calls;
mod campaign_reads;
mod campaigns;
mod deliveries;
mod directory;
mod erasure;
mod idempotency;
mod inbound;
mod knowledge;
mod live_calls;
mod nodes;
mod records;
mod returned;
mod safeguards;
mod tools;

pub use appointments::*;
pub use attempts::*;
pub use calls::*;
pub use campaign_reads::*;
pub use campaigns::*;
pub use deliveries::*;
pub use directory::*;
pub use erasure::*;
pub use idempotency::*;
pub use inbound::*;
pub use knowledge::*;
pub use live_calls::*;
pub use nodes::*;
pub use records::*;
pub use returned::*;
pub use safeguards::*;
pub use tools::*;

/// Why a store operation failed, sorted by what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No such row, or it belongs to another account.
    #[error("not found")]
    NotFound,
    /// A value that must be unique exists already: its name (`email`, `phoneNumber` …).
    #[error("{0} exists already")]
    Exists(&'static str),
    /// The row changed since it was read: read again.
    #[error("changed meanwhile")]
    Stale,
    /// Owner or epoch are no longer ours: forget the attempt.
    #[error("claim is no longer ours")]
    Fenced,
    /// The database is away or overloaded: may be tried again.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// The database will never take a value, however often it is asked: a character it has no place for, or a key that
    /// is too long.
    #[error("database refuses a value: {0}")]
    Refused(String),
    /// The nodes that live on the database live by other times than the one that would register: which, and the way out.
    #[error("{0}")]
    OtherTimes(String),
    /// A stored value that cannot be read back: a bug.
    #[error("stored value is damaged: {0}")]
    Damaged(String),
}

/// How the text of an error begins when there is no room left to store anything.
const DISK_FULL: &str = "the disk is full";

impl StoreError {
    /// There is no room left: nothing of the operation was stored, and it may be tried again when there is.
    pub fn disk_full(why: &str) -> Self {
        Self::Unavailable(format!("{DISK_FULL}: {why}"))
    }

    /// Whether it failed for want of room.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.starts_with(DISK_FULL))
    }
}

/// What every method returns.
pub type StoreResult<T> = Result<T, StoreError>;

/// The whole store.
pub trait Store:
    DirectoryStore
    + ErasureStore
    + IdempotencyStore
    + KnowledgeStore
    + CampaignStore
    + CampaignReadStore
    + NodeStore
    + AttemptStore
    + CallStore
    + InboundStore
    + RecordStore
    + ReturnStore
    + SafeguardStore
    + DeliveryStore
    + AppointmentStore
    + ToolStore
{
}

impl<T> Store for T where
    T: DirectoryStore
        + ErasureStore
        + IdempotencyStore
        + KnowledgeStore
        + CampaignStore
        + CampaignReadStore
        + NodeStore
        + AttemptStore
        + CallStore
        + InboundStore
        + RecordStore
        + ReturnStore
        + SafeguardStore
        + DeliveryStore
        + AppointmentStore
        + ToolStore
{
}
