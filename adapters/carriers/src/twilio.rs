//! Twilio's protocols and API, which SignalWire implements too. The simulated exchange streams audio in the
//! same format.

pub mod account;
pub mod callback;
pub mod client;
pub mod documents;
pub mod fields;
pub mod instructions;
mod queue;
pub mod refusal;
pub mod signature;
pub mod stream;
mod webhooks;

use std::sync::Arc;

use domain::time::Clock;

use self::{account::TwilioAccount, client::TwilioCarrier, documents::Documents, signature::Guard};
use super::{
    Trunk,
    http::{SetupError, base},
};

/// Creates the carrier of an account that reaches this node at `public_url`. `clock` determines the age of addresses
/// that SignalWire fetches.
///
/// # Errors
///
/// Returns an error if either URL is invalid.
pub fn trunk(account: TwilioAccount, public_url: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
    let guard = Arc::new(Guard::new(&account, &base("public address", public_url)?));
    let documents = Documents::new(guard.document_key(), clock);
    let carrier = Arc::new(TwilioCarrier::new(account, public_url, (guard.clone(), documents))?);
    let routes = webhooks::routes(guard, carrier.clone());
    Ok(Trunk {
        carrier,
        routes,
        event_listener: None,
    })
}
