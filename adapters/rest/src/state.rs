//! State that all handlers share.

pub mod text_queue;

pub mod account_events;
pub mod checked_services;
pub mod live_access;

use std::{path::PathBuf, sync::Arc};

use actors::switchboard::Switchboard;
use domain::{
    admission::Gate,
    agent::Agent,
    ports::{
        Readiness,
        catalog::{CarrierNumbers, Catalog},
        knowledge::KnowledgeBase,
        store::Store,
    },
    prices::PriceList,
};
use integrations::documents::Documents;
use net::address_policy::AddressPolicy;
use peers::Peers;
use tokio::sync::watch;

use crate::{
    limits::{
        concurrency_limit::ConcurrencyLimit,
        rate_limit::{RateLimit, SignInLimit},
    },
    site::Site,
    state::{account_events::AccountEvents, checked_services::CheckedServices, live_access::LiveAccess},
};

/// Function that returns a sentence for each setting of an agent that its providers cannot follow.
pub type Limits = Arc<dyn Fn(&Agent) -> Vec<String> + Send + Sync>;

/// Shared state of the handlers.
#[derive(Clone)]
pub struct RestState {
    /// Store of all rows.
    pub store: Arc<dyn Store>,
    /// Handle for campaign and call commands.
    pub switchboard: Switchboard,
    /// Other nodes.
    pub peers: Peers,
    /// Address at which clients reach this service, without a trailing slash.
    pub public_url: Arc<str>,
    /// Whether the carrier is the simulated exchange. Launching then calls nobody, and the answer says so.
    pub carrier_is_simulated: bool,
    /// Addresses at which browsers may sign in.
    pub site: Site,
    /// Limit on failed sign-ins.
    pub sign_in_limit: Arc<SignInLimit>,
    /// Check that an agent can talk. The error names the missing setting and the remedy.
    pub talking: Readiness,
    /// Check that an agent can answer in text.
    pub texting: Readiness,
    /// Check that its outbound calls can be held and go out too, as the node makes it.
    pub dialing: Readiness,
    /// Lists the settings of an agent that its providers cannot follow. Answers about the agent warn of them.
    pub limits: Limits,
    /// Voices and models that the providers offer.
    pub catalog: Arc<dyn Catalog>,
    /// Phone numbers that the carriers have.
    pub numbers: Arc<dyn CarrierNumbers>,
    /// Drops cached speech in memory that may contain a person's data.
    pub forget_speech: Arc<dyn Fn() + Send + Sync>,
    /// Gate that refuses requests while the node is overloaded.
    pub gate: Gate,
    /// Limit on the requests of each API key.
    pub rate_limit: Arc<RateLimit>,
    /// Folder in which uploads are spooled while they are checked.
    pub spool_dir: PathBuf,
    /// Folder of the recordings.
    pub recordings_dir: PathBuf,
    /// Limit on concurrent uploads. Each takes disk space and a thread that checks it. Further ones wait.
    pub upload_limit: ConcurrencyLimit,
    /// Limit on concurrent event streams. Each queries the database every second.
    pub event_stream_limit: ConcurrencyLimit,
    /// Streams of account events.
    pub account_events: AccountEvents,
    /// Tickets, listeners and texts of live calls.
    pub live: LiveAccess,
    /// True once event streams must end because the service stops.
    pub stopping: watch::Receiver<bool>,
    /// Converter of documents to text.
    pub documents: Arc<Documents>,
    /// The documents as calls search them.
    pub knowledge: Arc<dyn KnowledgeBase>,
    /// Carriers and providers, with their last checks.
    pub services: CheckedServices,
    /// Policy on the addresses that a client may have us connect to.
    pub address_policy: AddressPolicy,
    /// Prices for the cost of conversations, if there are any.
    pub prices: Option<Arc<PriceList>>,
}

/// Returns the default limit for [`RestState::upload_limit`].
pub fn upload_limit() -> ConcurrencyLimit {
    ConcurrencyLimit::new(4, 16)
}

/// Returns the limit for [`RestState::event_stream_limit`] of a server with this many connections: at most a quarter of
/// them, so that streams leave room for requests and carriers.
pub fn event_stream_limit(connections: usize) -> ConcurrencyLimit {
    ConcurrencyLimit::new(50, (connections / 4).min(1_000))
}
