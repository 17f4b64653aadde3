//! Vonage, through its Voice API: calls placed with inline instructions, signed webhooks that may be answered
//! with further instructions, and media sockets of binary frames.

pub mod account;
pub mod answers;
pub mod client;
pub mod event;
pub mod instructions;
pub mod refusal;
mod reopened;
pub mod signature;
pub mod stream;
pub mod token;
mod webhooks;

use std::sync::Arc;

use domain::time::Clock;

pub use self::webhooks::NAME;
use self::{account::VonageAccount, client::VonageCarrier, signature::WebhookKey};
use super::{Trunk, http::SetupError};

/// Creates the carrier of an account that reaches this node at `public_url`. `clock` determines the age of
/// webhooks and dates the tokens of requests.
///
/// # Errors
///
/// Returns an error if either URL is invalid.
pub fn trunk(account: VonageAccount, public_url: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
    let key = WebhookKey::new(account.signature_secret.secret(), &account.application);
    let carrier = Arc::new(VonageCarrier::new(account, public_url, clock.clone())?);
    let routes = webhooks::routes(key, clock, carrier.clone());
    Ok(Trunk {
        carrier,
        routes,
        event_listener: None,
    })
}
