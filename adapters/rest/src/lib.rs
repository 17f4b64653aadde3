//! REST API and its routes, some of which are listed in the modules of their resources. The envelope of the
//! API contract surrounds all of it.

mod access;
mod caller;
pub mod described;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
mod limits;
pub mod openapi;
mod request;
mod resources;
mod response;
pub mod server;
mod site;
mod sse;
mod state;
pub mod widget;

pub use access::cors::{InvalidOrigin, around as with_cors, parse_origin};
pub use limits::concurrency_limit::ConcurrencyLimit;
pub use limits::rate_limit::{RateLimit, SignInLimit};
pub use resources::campaign_csv::contacts_in as contacts_in_csv;
pub use site::{Entrance, Site, WAYS_OUT};
pub use state::account_events::AccountEvents;
pub use state::checked_services::CheckedServices;
pub use state::live_access::LiveAccess;
pub use state::{Limits, RestState, event_stream_limit, upload_limit};

use axum::{Router, http::StatusCode, middleware, routing::get};

use access::{admission, auth, session};
use resources::{account::health, conversations};
use response::envelope;

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
    let keyed = openapi::keyed()
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
