//! REST API and its routes, some of which are listed in the modules of their resources. The envelope of the
//! API contract surrounds all of it.

mod admission;
mod agent_references;
mod agents;
mod analytics;
mod api_keys;
mod appointments;
mod auth;
mod body;
mod call_language;
mod call_overrides;
mod calls;
mod campaign_csv;
mod campaigns;
mod catalog;
mod concurrency_limit;
mod contact_fields;
mod contacts;
mod conversations;
mod cors;
mod cursor;
mod do_not_call;
mod email;
mod envelope;
mod error;
mod events;
mod fields;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
mod health;
mod idempotency;
mod key_uses;
mod knowledge_base;
mod me;
pub mod openapi;
mod optimistic;
mod path_id;
mod phone_numbers;
mod query;
mod rate_limit;
mod request_id;
mod results_file;
mod row_report;
mod safeguards;
mod scopes;
pub mod server;
mod services;
mod session;
mod site;
mod sse;
mod strict_json;
mod tools;
mod transfer_rules;
mod webhooks;
pub mod widget;

use std::{path::PathBuf, sync::Arc};

pub use campaign_csv::contacts_in as contacts_in_csv;
pub use cors::{InvalidOrigin, around as with_cors, parse_origin};
pub use rate_limit::{RateLimit, SignInLimit};
pub use services::CheckedServices;
pub use site::{Entrance, Site, WAYS_OUT};

use actors::switchboard::Switchboard;
use axum::{
    Router,
    http::StatusCode,
    middleware,
    routing::{delete, get, post},
};
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

pub use concurrency_limit::ConcurrencyLimit;
pub use conversations::live_tickets::LiveAccess;
pub use events::AccountEvents;
use tokio::sync::watch;

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

/// Builds the whole API below `/public`. It has its own fallback, so routers merged with it must have none.
pub fn router(state: RestState) -> Router {
    with_envelope(routes(state))
}

/// Adds the envelope, the request id and the catching of panics to routes.
pub fn with_envelope(routes: Router) -> Router {
    routes
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(middleware::from_fn(envelope::layer))
}

/// Builds the routes without the envelope's layer, so that a test can add its own routes.
pub fn routes(state: RestState) -> Router {
    let require_key = middleware::from_fn_with_state(auth::Gatekeeper::new(state.clone()), auth::require_key);
    let at_the_holder = conversations::routes_at_the_holder()
        .route_layer(require_key.clone())
        .merge(conversations::sockets())
        .route_layer(middleware::from_fn_with_state(
            state.peers.clone(),
            conversations::to_the_holder,
        ));
    let keyed = Router::new()
        .route("/public/v1/me", get(me::show))
        .route("/public/v1/me/api-key/regenerate", post(me::regenerate_key))
        .merge(api_keys::routes())
        .merge(session::routes())
        .route("/public/v1/me/settings", get(me::settings).patch(me::change_settings))
        .route("/public/v1/me/webhook-secret", get(me::webhook_secret))
        .route("/public/v1/me/webhook-secret/rotate", post(me::rotate_webhook_secret))
        .route("/public/v1/agents", get(agents::list))
        .route("/public/v1/agents/create", post(agents::create))
        .route("/public/v1/agents/test-call", post(calls::test_call::create))
        .route(
            "/public/v1/agents/{agentId}",
            get(agents::show).patch(agents::patch).delete(agents::delete),
        )
        .route(
            "/public/v1/agents/{agentId}/duplicate",
            post(agents::duplicate::duplicate),
        )
        .merge(agents::versions::routes())
        .route("/public/v1/contacts", get(contacts::list).post(contacts::create))
        .route(
            "/public/v1/contacts/{contactId}",
            get(contacts::show).patch(contacts::patch).delete(contacts::delete),
        )
        .route("/public/v1/do-not-call", get(do_not_call::list).post(do_not_call::add))
        .route("/public/v1/do-not-call/{phoneNumber}", delete(do_not_call::remove))
        .merge(campaigns::routes())
        .route("/public/v1/campaigns/csv", post(campaign_csv::create))
        .route("/public/v1/campaigns/csv/check", post(campaign_csv::dry_run::check))
        .route(
            "/public/v1/campaigns/{campaignId}/contacts/csv",
            post(campaign_csv::add),
        )
        .merge(knowledge_base::routes())
        .merge(phone_numbers::routes())
        .merge(catalog::routes())
        .merge(safeguards::routes())
        .merge(services::routes())
        .route("/public/v1/events", get(events::stream))
        .merge(tools::routes())
        .merge(transfer_rules::routes())
        .merge(webhooks::routes())
        .merge(conversations::routes())
        .merge(analytics::routes())
        .merge(appointments::routes())
        .route("/public/v1/calls", post(calls::create))
        .route("/public/v1/calls/live", get(calls::in_progress::list))
        .route("/public/v1/calls/inbound", post(calls::inbound::create))
        .route_layer(require_key)
        .merge(at_the_holder)
        .merge(session::opening())
        // This layer is the outer one, so that a refusal costs no database query.
        .route_layer(middleware::from_fn_with_state(
            admission::Admittance::new(state.gate.clone()),
            admission::admit,
        ));
    Router::new()
        .route("/public/health", get(health::show))
        .route("/public/openapi.json", openapi::show(&state.public_url))
        .merge(keyed)
        .with_state(state)
}
