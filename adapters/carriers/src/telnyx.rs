//! Telnyx, through Call Control version 2: commands, signed webhooks that determine the next command, and
//! media sockets.

pub mod account;
mod api;
pub mod client;
pub mod event;
mod legs;
pub mod line;
pub mod mark;
pub mod refusal;
pub mod signature;
pub mod stream;
mod ways;
mod webhooks;

use std::sync::Arc;

use domain::time::Clock;

pub use self::webhooks::NAME;
use self::{account::TelnyxAccount, client::TelnyxCarrier, mark::StreamTokens, webhooks::TelnyxWebhooks};
use super::{Trunk, http::SetupError};

/// Creates the carrier of an account that reaches this node at `public_url`. `clock` determines the age of webhooks.
///
/// # Errors
///
/// Returns an error if either URL is invalid.
pub fn trunk(account: TelnyxAccount, public_url: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
    let tokens = StreamTokens::new(account.api_key.secret());
    let (key, line) = (account.public_key.clone(), account.line);
    let carrier = Arc::new(TelnyxCarrier::new(account, public_url, tokens.clone())?);
    let routes = webhooks::routes(TelnyxWebhooks {
        key,
        tokens,
        clock,
        line,
        carrier: carrier.clone(),
    });
    Ok(Trunk {
        carrier,
        routes,
        event_listener: None,
    })
}
