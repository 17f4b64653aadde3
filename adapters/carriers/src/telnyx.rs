//! Telnyx, through Call Control version 2: commands, signed webhooks that say what to command next, and media sockets.

pub mod account;
mod api;
pub mod client;
pub mod doors;
mod legs;
pub mod line;
pub mod mark;
pub mod refusal;
pub mod signature;
pub mod stream;
mod ways;
pub mod webhook;

use std::sync::Arc;

use domain::time::Clock;

use self::{
    account::TelnyxAccount,
    client::TelnyxCarrier,
    doors::{Doors, Guard},
    mark::StreamTokens,
};
use super::{Trunk, http::SetupError};

/// The carrier of an account that reaches this node at `public_url`. `clock` tells how old webhooks are.
///
/// # Errors
///
/// When one of the addresses is none.
pub fn trunk(account: TelnyxAccount, public_url: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
    let tokens = StreamTokens::new(account.api_key.secret());
    let guard = Guard {
        key: account.public_key.clone(),
        tokens: tokens.clone(),
        clock,
    };
    let line = account.line;
    let carrier = Arc::new(TelnyxCarrier::new(account, public_url, tokens)?);
    let doors = Doors::new(guard, line, carrier.clone()).routes();
    Ok(Trunk {
        carrier,
        doors,
        attendant: None,
    })
}
