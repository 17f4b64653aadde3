//! The store: every row of the service behind one port, split by subject.
//!
//! Decisions (claim, permit, outcome, state change) are durable: when a method returns, the row is on disk.
//! The store has its own clock; callers never pass the present time.

mod account_events;
mod analytics;
mod api_keys;
mod appointments;
mod attempts;
mod callee_record;
mod calls;
mod calls_in_progress;
mod campaign_reads;
mod campaigns;
mod deliveries;
mod directory;
mod erasure;
mod event_signals;
mod idempotency;
mod inbound;
mod knowledge;
mod live_calls;
mod nodes;
mod records;
mod returned;
mod safeguards;
mod sessions;
mod tools;
mod transfer_rules;
mod webhooks;

pub use account_events::*;
pub use analytics::*;
pub use api_keys::*;
pub use appointments::*;
pub use attempts::*;
pub use callee_record::*;
pub use calls::*;
pub use calls_in_progress::*;
pub use campaign_reads::*;
pub use campaigns::*;
pub use deliveries::*;
pub use directory::*;
pub use erasure::*;
pub use event_signals::*;
pub use idempotency::*;
pub use inbound::*;
pub use knowledge::*;
pub use live_calls::*;
pub use nodes::*;
pub use records::*;
pub use returned::*;
pub use safeguards::*;
pub use sessions::*;
pub use tools::*;
pub use transfer_rules::*;
pub use webhooks::*;

/// Reason why a store operation failed, sorted by what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No such row, or it belongs to another account.
    #[error("not found")]
    NotFound,
    /// A value that must be unique exists already. Contains its name (`email`, `phoneNumber` …).
    #[error("{0} exists already")]
    Exists(&'static str),
    /// The row changed since it was read. Read it again.
    #[error("the row changed meanwhile; read it again")]
    Stale,
    /// Owner or epoch do not match any more. Forget the attempt.
    #[error("the claim no longer holds")]
    Fenced,
    /// The database is unavailable or overloaded. The operation may be tried again.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// The database will never accept a value, because it contains a character that cannot be stored, or is
    /// too long for an index.
    #[error("the database rejects a value: {0}")]
    Refused(String),
    /// Other live nodes of the database use different timings. Contains the differences and the way out.
    #[error("{0}")]
    OtherTimes(String),
    /// A stored value cannot be read back, which is a bug.
    #[error("stored value is damaged: {0}")]
    Damaged(String),
}

/// Prefix of the error text for a full disk.
const DISK_FULL: &str = "the disk is full";

impl StoreError {
    /// Creates the error for a full disk. Nothing was stored; the operation may be tried again once there is space.
    pub fn disk_full(why: &str) -> Self {
        Self::Unavailable(format!("{DISK_FULL}: {why}"))
    }

    /// Returns whether the operation failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.starts_with(DISK_FULL))
    }
}

/// Result of every method.
pub type StoreResult<T> = Result<T, StoreError>;

/// The whole store.
pub trait Store:
    DirectoryStore
    + ApiKeyStore
    + SessionStore
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
    + TransferRuleStore
    + AccountEventStore
    + EventSignalling
    + WebhookStore
    + AnalyticsStore
{
}

impl<T> Store for T where
    T: DirectoryStore
        + ApiKeyStore
        + SessionStore
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
        + TransferRuleStore
        + AccountEventStore
        + EventSignalling
        + WebhookStore
        + AnalyticsStore
{
}
