//! Carrier clients, and the routes on which carriers send webhooks and open media sockets. Every address
//! given to a carrier contains the attempt and a proof of its dial permit. Real carriers also sign their
//! requests.

#![expect(clippy::result_large_err, reason = "a handler's error is the response that it sends")]

mod ask;
pub mod asterisk;
mod bulkhead;
pub mod check;
mod conferences;
mod handovers;
pub mod http;
pub mod link;
mod media_socket;
pub mod numbers;
pub mod plain;
pub mod protocol;
pub mod settings;
pub mod simulated;
mod taken_calls;
pub mod telnyx;
pub mod twilio;
pub mod vonage;
mod waiting;
pub mod webhooks;
mod words;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use domain::ports::carrier::Carrier;
use futures_util::future::BoxFuture;

pub use self::bulkhead::Bulkheads;
pub use self::link::CarrierLink;
use peers::layer;

/// An installed carrier: its client and its routes.
pub struct Trunk {
    /// Client that places calls.
    pub carrier: Arc<dyn Carrier>,
    /// Routes below `/carriers/{name}`.
    pub routes: Router<CarrierLink>,
    /// Event listener, for a carrier that reports calls through an event stream.
    pub event_listener: Option<EventListener>,
}

/// Listener for a carrier's events, active until it is dropped.
pub type EventListener = Box<dyn FnOnce(CarrierLink) -> BoxFuture<'static, ()> + Send>;

/// Returns the routes below `/carriers` for all the given carriers, each with its name.
pub fn router(link: &CarrierLink, routes: impl IntoIterator<Item = (&'static str, Router<CarrierLink>)>) -> Router {
    routes
        .into_iter()
        .map(|(carrier, routes)| routes.with_state(link.of(carrier)))
        .fold(Router::new(), Router::merge)
        .layer(DefaultBodyLimit::max(link::MAX_CALLBACK_BYTES))
        .layer(middleware::from_fn_with_state(
            link.peers().clone(),
            layer::to_the_holder,
        ))
}
