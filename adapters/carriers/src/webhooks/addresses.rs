//! Our addresses for one carrier's requests. They hold the attempt and a proof.

use domain::{id::AttemptId, ports::carrier::WayBack};

use super::handovers::Try;
use crate::http::{SetupError, base, socket_address};

/// Writer of the addresses at which a carrier reaches this node.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    /// Without a trailing slash.
    public: String,
    carrier: &'static str,
}

impl Addresses {
    pub(crate) fn new(public: &str, carrier: &'static str) -> Result<Self, SetupError> {
        let public = base("public address", public)?;
        Ok(Self { public, carrier })
    }

    /// Returns the path of a route of this carrier.
    pub(crate) fn path(&self, below: &str) -> String {
        format!("/carriers/{}/{below}", self.carrier)
    }

    /// Returns the address of a route of this carrier.
    pub(crate) fn at(&self, below: &str) -> String {
        format!("{}{}", self.public, self.path(below))
    }

    /// Returns the address for reports of this kind about a call.
    pub(crate) fn reports(&self, kind: &str, back: &WayBack) -> String {
        self.at(&format!("{kind}/{}/{}", back.attempt, back.status_token))
    }

    /// Returns the address for reports about the progress of a call's own leg.
    pub(crate) fn status(&self, back: &WayBack) -> String {
        self.reports("status", back)
    }

    /// Returns the address for reports about the destination that a call is to be joined with.
    pub(crate) fn conference(&self, which: Try, status_token: &str) -> String {
        self.at(&format!("conference/{which}/{status_token}"))
    }

    /// Returns the address for the result of a transfer.
    pub(crate) fn transfer(&self, back: &WayBack) -> String {
        let (attempt, media_token) = (back.attempt, &back.media_token);
        self.at(&format!("transfer/{attempt}.{media_token}/{}", back.status_token))
    }

    /// Returns the address of a call's media socket.
    pub(crate) fn media(&self, attempt: AttemptId, media_token: &str) -> String {
        socket_address(&self.at(&format!("media/{attempt}.{media_token}")))
    }
}
