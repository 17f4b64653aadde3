//! The declaration of a carrier. It stands in the carrier's folder, and [`crate::registry`] lists all of them.
//!
//! Every carrier keeps to these rules:
//! - Every address that it gets holds the attempt and a proof: `/carriers/NAME/status/ATTEMPT/PROOF` and
//!   `/carriers/NAME/media/ATTEMPT.PROOF`.
//! - A dial is one request, sent by [`crate::http::place`]. What may have been dialed is `Unknown`.
//! - An unsigned request is refused before it is parsed ([`crate::link::forged`]); then `ensure_here`, then `report`.
//! - Reports may repeat, come late and in any order. Unknown fields and events are ignored.
//! - Keys are `Key`; the carrier's words pass `plain_words` before they are kept or shown.

pub(crate) mod ask;
mod choice;
pub mod variables;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use axum::Router;
use domain::{phone_number::PhoneNumber, ports::carrier::Carrier, time::Clock};
use futures_util::future::BoxFuture;

pub use self::choice::Choice;
pub(crate) use self::choice::listed;
use self::{
    ask::{Asker, Check, Problem},
    variables::{SettingsError, Variables},
};
use crate::{http::SetupError, link::CarrierLink};

/// Dials per second that a carrier grants every account, if it says nothing else.
pub const USUAL_RATE: u32 = 10;
/// Variable with the address at which carriers reach the service.
const PUBLIC_URL: &str = "RINGBACK_PUBLIC_URL";

/// A carrier's declaration.
#[derive(Debug)]
pub struct CarrierKind {
    /// Name in settings, routes, agents and stored rows.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Whether calls can be placed there.
    pub dials: bool,
    /// Whether it sends webhooks, for which it must reach the service at a public address.
    pub calls_back: bool,
    /// Whether it lists the numbers of an account.
    pub lists_numbers: bool,
    /// Dials per second that it grants every account.
    pub dials_per_second: u32,
    /// Variables without which it cannot be used.
    pub variables: &'static [&'static str],
    /// Variables of which any one begins an account: then the others must be set too.
    pub begun_by: &'static [&'static str],
    /// Reads the account. `None` if the service makes the carrier without one.
    pub account: Option<ReadAccount>,
}

/// Reads an account that has begun.
pub type ReadAccount = fn(&Variables<'_>) -> Result<Arc<dyn Account>, SettingsError>;

impl CarrierKind {
    /// The usual values. A carrier adds its own.
    pub const USUAL: Self = Self {
        name: "",
        title: "",
        dials: true,
        calls_back: true,
        lists_numbers: false,
        dials_per_second: USUAL_RATE,
        variables: &[],
        begun_by: &[],
        account: None,
    };

    /// Returns what to set before the carrier can be used.
    pub fn wanted(&self) -> String {
        format!("set {}", listed(self.variables))
    }

    /// Returns the names of all variables that the carrier needs.
    pub fn needs(&self) -> Vec<&'static str> {
        let public = self.calls_back.then_some(PUBLIC_URL);
        self.variables.iter().copied().chain(public).collect()
    }

    /// Reads the account, if one is set.
    pub(crate) fn read(&self, get: &dyn Fn(&str) -> Option<String>) -> Result<Option<Arc<dyn Account>>, SettingsError> {
        let variables = Variables::new(get, self.title);
        match self.account {
            Some(read) if variables.any(self.begun_by) => read(&variables).map(Some),
            _ => Ok(None),
        }
    }
}

/// Settings to enter at a carrier: place and value.
pub type Entries = Vec<(&'static str, String)>;

/// An account at a carrier.
#[async_trait]
pub trait Account: fmt::Debug + Send + Sync {
    /// Returns the base URL of the carrier's API.
    fn api(&self) -> &str;

    /// Creates the carrier, which reaches this node at `public` if it calls back. `clock` determines the age of what is
    /// signed or sealed.
    fn trunk(&self, public: &str, clock: Arc<dyn Clock>) -> Result<Trunk, SetupError>;

    /// Asks the carrier for something small, without an effect. Returns the state of the account in few words.
    async fn state(&self, check: &Check<'_>) -> Result<String, Problem>;

    /// Tries further requests of a call, without an effect, once the account is accepted and the carrier can reach the
    /// service at `public`. Returns what to add to the state.
    async fn try_out(&self, _check: &Check<'_>, _public: &str) -> Result<String, Problem> {
        Ok(String::new())
    }

    /// Returns what to enter at the carrier.
    fn entries(&self, _check: &Check<'_>) -> Entries {
        Vec::new()
    }

    /// Returns the numbers of the account, if the carrier lists them.
    async fn numbers(&self, _ask: &Asker) -> Result<Vec<PhoneNumber>, Problem> {
        Ok(Vec::new())
    }
}

/// An installed carrier: its client and its routes.
pub struct Trunk {
    /// Client that places calls.
    pub carrier: Arc<dyn Carrier>,
    /// Routes below `/carriers/{name}`.
    pub routes: Router<CarrierLink>,
    /// Event listener, for a carrier that reports calls through an event stream.
    pub event_listener: Option<EventListener>,
}

impl Trunk {
    /// Joins a client with the routes of a carrier that reports calls through webhooks.
    pub(crate) fn new(carrier: Arc<dyn Carrier>, routes: Router<CarrierLink>) -> Self {
        Self {
            carrier,
            routes,
            event_listener: None,
        }
    }
}

/// Listener for a carrier's events, active until it is dropped.
pub type EventListener = Box<dyn FnOnce(CarrierLink) -> BoxFuture<'static, ()> + Send>;
