//! Carrier clients, and the routes on which carriers send webhooks and open media sockets. Every address
//! given to a carrier contains the attempt and a proof of its dial permit. Real carriers also sign their
//! requests.

#![expect(clippy::result_large_err, reason = "a handler's error is the response that it sends")]

mod accounts;
mod bulkhead;
pub mod http;
pub mod kind;
mod link;
mod lock;
pub mod protocol;
pub mod registry;
mod webhooks;

pub mod asterisk;
pub mod plain;
pub mod simulated;
pub mod telnyx;
pub mod twilio;
pub mod vonage;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use peers::layer;

pub use self::accounts::{check, numbers, settings};
pub use self::bulkhead::Bulkheads;
pub use self::kind::{EventListener, Trunk};
pub use self::link::CarrierLink;

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
