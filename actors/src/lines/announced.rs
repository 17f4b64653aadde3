//! The calls from outside that are known here: which legs were announced, and what became of each.

use std::collections::HashMap;

use super::{InboundReply, inbound::HeldInbound};
use domain::{
    id::{AccountId, AttemptId},
    ports::carrier::{CarrierCallId, WayBack},
};

/// How many calls of an account that begin by the REST API may wait for their media socket; each holds a line.
pub const MOST_WITHOUT_SOCKET: usize = 5;

/// A leg, as its carrier names it.
pub(super) type Leg = (&'static str, CarrierCallId);

/// What became of an announced call.
pub(super) enum Announced {
    /// Its attempt is being made.
    Asking {
        attempt: AttemptId,
        waiting: Vec<InboundReply>,
    },
    /// Its attempt was made too late for whoever announced it.
    Held { attempt: AttemptId, held: HeldInbound },
    /// It is a call.
    Live { attempt: AttemptId, back: WayBack },
}

/// The calls from outside that live here, or are about to.
#[derive(Default)]
pub struct Announcements {
    pub(super) legs: HashMap<Leg, Announced>,
    /// Those that began by the REST API and have had no media socket yet, by whose they are.
    without_socket: HashMap<AttemptId, AccountId>,
}

impl Announcements {
    /// Those who wait for the answer about this attempt.
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

    /// Those who wait for an answer about this attempt, which goes on being made.
    pub(super) fn impatient(&mut self, leg: &Leg, attempt: AttemptId) -> Vec<InboundReply> {
        match self.legs.get_mut(leg) {
            Some(Announced::Asking {
                attempt: asked,
                waiting,
            }) if *asked == attempt => std::mem::take(waiting),
            _ => Vec::new(),
        }
    }

    /// Whether this attempt is being made.
    pub(super) fn is_asked(&self, leg: &Leg, attempt: AttemptId) -> bool {
        matches!(self.legs.get(leg), Some(Announced::Asking { attempt: asked, .. }) if *asked == attempt)
    }

    /// Attempts that are being made.
    pub(super) fn asking(&self) -> usize {
        let asking = |announced: &&Announced| matches!(announced, Announced::Asking { .. });
        self.legs.values().filter(asking).count()
    }

    /// The attempt that is held for this leg.
    pub(super) fn held(&mut self, leg: &Leg) -> Option<(AttemptId, HeldInbound)> {
        match self.legs.remove(leg)? {
            Announced::Held { attempt, held } => Some((attempt, held)),
            other => {
                self.legs.insert(leg.clone(), other);
                None
            }
        }
    }

    /// Whether an account may have one more call without a media socket; then it has.
    pub(super) fn waits_for_socket(&mut self, attempt: AttemptId, account: AccountId) -> bool {
        let of_account = self.without_socket.values().filter(|of| **of == account).count();
        let may = of_account < MOST_WITHOUT_SOCKET;
        if may {
            self.without_socket.insert(attempt, account);
        }
        may
    }

    /// The call of this attempt was brought its media socket.
    pub(super) fn has_socket(&mut self, attempt: AttemptId) {
        self.without_socket.remove(&attempt);
    }

    /// The call of this attempt is over.
    pub(super) fn over(&mut self, attempt: AttemptId) {
        self.without_socket.remove(&attempt);
        self.legs.retain(|_, announced| match announced {
            Announced::Asking { attempt: own, .. }
            | Announced::Held { attempt: own, .. }
            | Announced::Live { attempt: own, .. } => *own != attempt,
        });
    }
}
