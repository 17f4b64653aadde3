//! Inbound calls known here: the announced legs, and the state of each.

use std::collections::HashMap;

use super::{InboundReply, inbound::HeldInbound};
use domain::{
    id::{AccountId, AttemptId},
    ports::carrier::{CarrierCallId, WayBack},
};

/// Number of calls of an account, started through the REST API, that may wait for their media socket. Each
/// holds a line.
pub const MOST_WITHOUT_SOCKET: usize = 5;

/// A leg, by carrier and the carrier's id.
pub(super) type Leg = (&'static str, CarrierCallId);

/// State of an announced call.
pub(super) enum Announced {
    /// Its attempt is being created.
    Asking {
        attempt: AttemptId,
        waiting: Vec<InboundReply>,
    },
    /// Its attempt was created too late for the request that announced it.
    Held { attempt: AttemptId, held: HeldInbound },
    /// The call lives on this node.
    Live { attempt: AttemptId, back: WayBack },
}

/// Inbound calls that live here or are about to.
#[derive(Default)]
pub struct Announcements {
    pub(super) legs: HashMap<Leg, Announced>,
    /// Calls started through the REST API that have had no media socket yet, with their account.
    without_socket: HashMap<AttemptId, AccountId>,
}

impl Announcements {
    /// Takes the requests that wait for the answer about this attempt.
    pub(super) fn answered(&mut self, leg: &Leg, attempt: AttemptId) -> Option<Vec<InboundReply>> {
        match self.legs.remove(leg)? {
            Announced::Asking {
                attempt: asked,
                waiting,
            } if asked == attempt => Some(waiting),
            other => {
                self.legs.insert(leg.clone(), other);
                None
            }
        }
    }

    /// Takes the requests that wait for this attempt, whose creation continues.
    pub(super) fn impatient(&mut self, leg: &Leg, attempt: AttemptId) -> Vec<InboundReply> {
        match self.legs.get_mut(leg) {
            Some(Announced::Asking {
                attempt: asked,
                waiting,
            }) if *asked == attempt => std::mem::take(waiting),
            _ => Vec::new(),
        }
    }

    /// Returns whether this attempt is being created.
    pub(super) fn is_asked(&self, leg: &Leg, attempt: AttemptId) -> bool {
        matches!(self.legs.get(leg), Some(Announced::Asking { attempt: asked, .. }) if *asked == attempt)
    }

    /// Returns the number of attempts that are being created.
    pub(super) fn asking(&self) -> usize {
        let asking = |announced: &&Announced| matches!(announced, Announced::Asking { .. });
        self.legs.values().filter(asking).count()
    }

    /// Takes the attempt that is held for this leg.
    pub(super) fn held(&mut self, leg: &Leg) -> Option<(AttemptId, HeldInbound)> {
        match self.legs.remove(leg)? {
            Announced::Held { attempt, held } => Some((attempt, held)),
            other => {
                self.legs.insert(leg.clone(), other);
                None
            }
        }
    }

    /// Registers a call without a media socket. Returns false if the account has too many.
    pub(super) fn waits_for_socket(&mut self, attempt: AttemptId, account: AccountId) -> bool {
        let of_account = self.without_socket.values().filter(|of| **of == account).count();
        let may = of_account < MOST_WITHOUT_SOCKET;
        if may {
            self.without_socket.insert(attempt, account);
        }
        may
    }

    /// Notes that this attempt's call has got its media socket.
    pub(super) fn has_socket(&mut self, attempt: AttemptId) {
        self.without_socket.remove(&attempt);
    }

    /// Notes that this attempt's call is over.
    pub(super) fn over(&mut self, attempt: AttemptId) {
        self.without_socket.remove(&attempt);
        self.legs.retain(|_, announced| match announced {
            Announced::Asking { attempt: own, .. }
            | Announced::Held { attempt: own, .. }
            | Announced::Live { attempt: own, .. } => *own != attempt,
        });
    }
}
