//! Twilio's protocols and API, which SignalWire implements too. The simulated exchange streams audio in the
//! same format.

pub mod account;
pub mod callback;
pub mod client;
pub mod fields;
pub mod instructions;
mod queue;
pub mod refusal;
pub mod signature;
pub mod stream;
mod webhooks;

use std::sync::Arc;

use self::{account::TwilioAccount, client::TwilioCarrier, signature::Guard};
use super::{
    Trunk,
    http::{SetupError, base},
};

/// Creates the carrier of an account that reaches this node at `public_url`.
///
/// # Errors
///
/// Returns an error if either URL is invalid.
pub fn trunk(account: TwilioAccount, public_url: &str) -> Result<Trunk, SetupError> {
    let guard = Arc::new(Guard::new(&account, &base("public address", public_url)?));
    let carrier = Arc::new(TwilioCarrier::new(account, public_url, guard.clone())?);
    let routes = webhooks::routes(guard, carrier.clone());
    Ok(Trunk {
        carrier,
        routes,
        event_listener: None,
    })
}
