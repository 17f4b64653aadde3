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
mod error;
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
pub use error::*;
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

macro_rules! store {
    ($($port:ident),* $(,)?) => {
        /// The whole store.
        pub trait Store: $($port +)* {}

        impl<T: $($port +)*> Store for T {}
    };
}

store!(
    DirectoryStore,
    ApiKeyStore,
    SessionStore,
    ErasureStore,
    IdempotencyStore,
    KnowledgeStore,
    CampaignStore,
    CampaignReadStore,
    NodeStore,
    AttemptStore,
    CallStore,
    InboundStore,
    RecordStore,
    ReturnStore,
    SafeguardStore,
    DeliveryStore,
    AppointmentStore,
    ToolStore,
    TransferRuleStore,
    AccountEventStore,
    EventSignalling,
    WebhookStore,
    AnalyticsStore,
);
