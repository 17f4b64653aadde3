//! The carriers: how each places calls, and the doors through which it comes back with status callbacks and media
//! sockets. All addresses given to a carrier carry an attempt and a proof of its dial permit; a real carrier signs what
//! it sends in addition.

pub mod asterisk;
mod bulkhead;
pub mod check;
mod conferences;
pub mod door;
mod handovers;
pub mod http;
mod media_socket;
pub mod plain;
pub mod settings;
pub mod simulated;
mod taken_calls;
pub mod telnyx;
pub mod twilio;
pub mod vonage;
mod waiting;
pub mod wire;
mod words;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use domain::ports::carrier::Carrier;
use futures_util::future::BoxFuture;

pub use self::bulkhead::Bulkheads;
pub use self::door::CarrierDoor;
use peers::layer;

/// A carrier as it is built in: who places its calls, and where it comes in.
pub struct Trunk {
    /// Places calls.
    pub carrier: Arc<dyn Carrier>,
    /// Its routes below `/carriers/{name}`.
    pub doors: Router<CarrierDoor>,
    /// What it does beside that.
    pub attendant: Option<Attendant>,
}

/// What a carrier does on its own, as listening to one that does not come to our doors; runs until it is dropped.
pub type Attendant = Box<dyn FnOnce(CarrierDoor) -> BoxFuture<'static, ()> + Send>;

/// The routes below `/carriers`, of all carriers that may come in, each with its name.
pub fn router(door: &CarrierDoor, doors: impl IntoIterator<Item = (&'static str, Router<CarrierDoor>)>) -> Router {
    doors
        .into_iter()
        .map(|(carrier, routes)| routes.with_state(door.of(carrier)))
        .fold(Router::new(), Router::merge)
        .layer(DefaultBodyLimit::max(door::MAX_CALLBACK_BYTES))
        .layer(middleware::from_fn_with_state(
            door.peers().clone(),
            layer::to_the_holder,
        ))
}
