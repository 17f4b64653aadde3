//! A self-hosted Asterisk in front of any SIP trunk. Calls are controlled through its REST interface (ARI),
//! progress comes from its event stream, and audio through `chan_websocket` or AudioSocket. Here we
//! authenticate to Asterisk, so its events need no proof.

pub mod account;
pub mod ari;
pub mod audiosocket;
pub mod call;
pub mod cause;
pub mod client;
mod effects;
pub mod event;
pub mod events;
pub mod inbound;
pub mod media_route;
pub mod names;
mod resync;
pub mod stream;
pub mod switch;

use std::sync::Arc;

use futures_util::FutureExt;

use self::{
    account::{AsteriskAccount, Media},
    ari::Ari,
    client::AsteriskCarrier,
    switch::Switch,
};
use super::{CarrierLink, Trunk, http::SetupError, words::hide_pair};

/// Name of the carrier in settings, routes and stored rows.
pub const NAME: &str = "asterisk";

/// Creates the carrier of an account.
///
/// # Errors
///
/// Returns an error if the ARI URL is invalid or the AudioSocket address cannot be bound.
pub fn trunk(account: AsteriskAccount) -> Result<Trunk, SetupError> {
    hide_pair(&account.user, &account.password);
    let media = account.media.clone();
    let listener = match &media {
        Media::WebSocket { .. } => None,
        Media::AudioSocket { listen, .. } => Some(audiosocket::bind(*listen)?),
    };
    let switch = Arc::new(Switch::new(Ari::new(account)?));
    let carrier = Arc::new(AsteriskCarrier::new(switch.clone()));
    let event_listener = move |link: CarrierLink| {
        async move {
            let link = link.of(NAME);
            let events = events::listen(switch.clone(), link.clone());
            match listener {
                None => events.await,
                Some(listener) => {
                    tokio::join!(events, audiosocket::serve(listener, switch, link));
                }
            }
        }
        .boxed()
    };
    Ok(Trunk {
        carrier,
        routes: media_route::route(&media),
        event_listener: Some(Box::new(event_listener)),
    })
}
