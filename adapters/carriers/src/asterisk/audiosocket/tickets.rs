//! UUIDs that AudioSocket connections present: random, issued for one call, and valid for one connection.

use std::{collections::HashMap, sync::Mutex};

use domain::{id::AttemptId, ports::carrier::WayBack};
use uuid::Uuid;

use crate::{link::media_socket::Claim, lock::locked};

/// Tickets that were not presented yet, at most one per call.
#[derive(Debug, Default)]
pub struct Tickets(Mutex<HashMap<Uuid, Claim>>);

impl Tickets {
    /// Issues a ticket for a call. An earlier ticket of the same call becomes invalid.
    pub fn issue(&self, back: &WayBack) -> Uuid {
        let ticket = Uuid::new_v4();
        let mut tickets = locked(&self.0);
        tickets.retain(|_, claim| claim.attempt != back.attempt);
        tickets.insert(ticket, Claim::of(back));
        ticket
    }

    /// Returns the claim of a ticket, which then becomes invalid.
    pub fn redeem(&self, ticket: Uuid) -> Option<Claim> {
        locked(&self.0).remove(&ticket)
    }

    /// Removes the ticket of a finished call.
    pub fn forget(&self, attempt: AttemptId) {
        locked(&self.0).retain(|_, claim| claim.attempt != attempt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back() -> WayBack {
        WayBack {
            attempt: AttemptId::new(),
            status_token: "s".repeat(64),
            media_token: "a".repeat(64),
        }
    }

    #[test]
    fn a_ticket_is_good_once_and_for_its_call() {
        let (tickets, one, other) = (Tickets::default(), back(), back());
        let (first, others) = (tickets.issue(&one), tickets.issue(&other));
        let second = tickets.issue(&one);
        assert!(tickets.redeem(first).is_none() && tickets.redeem(Uuid::new_v4()).is_none());
        let claim = tickets.redeem(second).unwrap();
        assert_eq!((claim.attempt, claim.proof), (one.attempt, one.media_token));
        assert!(tickets.redeem(second).is_none());
        tickets.forget(other.attempt);
        assert!(tickets.redeem(others).is_none());
    }
}
