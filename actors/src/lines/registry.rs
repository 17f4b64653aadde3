//! Data about live calls that is needed if the line pool itself crashes. The node keeps it outside the actor.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use super::{Dialer, LostCall};
use domain::{
    id::AttemptId,
    ports::{
        carrier::CarrierCallId,
        store::{Claim, LiveCall, LiveCalls},
    },
    time::Timestamp,
};

/// The live calls of a node, each with the data to settle it, and the attempts without a call that are being
/// settled. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CallRegistry(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    calls: HashMap<AttemptId, Entry>,
    seen_to: HashSet<Claim>,
}

#[derive(Debug)]
struct Entry {
    dialer: Dialer,
    call: LostCall,
}

impl Held {
    fn holds(&self, claim: Claim) -> bool {
        let call = self.calls.get(&claim.attempt);
        self.seen_to.contains(&claim) || call.is_some_and(|entry| entry.call.ended.claim == claim)
    }
}

/// Marks an attempt without a call as being settled, for as long as this lives.
#[derive(Debug)]
pub struct SeenTo {
    claim: Claim,
    registry: CallRegistry,
}

impl Drop for SeenTo {
    fn drop(&mut self) {
        self.registry.with(|held| held.seen_to.remove(&self.claim));
    }
}

impl LiveCalls for CallRegistry {
    fn live(&self) -> Vec<LiveCall> {
        let live = |entry: &Entry| LiveCall {
            claim: entry.call.ended.claim,
            leg: entry.call.leg.clone(),
            answered_at: entry.call.times.answered_at,
        };
        self.with(|held| held.calls.values().map(live).collect())
    }
}

impl CallRegistry {
    fn with<T>(&self, work: impl FnOnce(&mut Held) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a call.
    pub fn insert(&self, dialer: Dialer, call: LostCall) {
        let attempt = call.ended.claim.attempt;
        let entry = Entry { dialer, call };
        self.with(|held| held.calls.insert(attempt, entry));
    }

    /// Notes the id of a call's leg.
    pub fn leg_known(&self, attempt: AttemptId, leg: &CarrierCallId) {
        self.with(|held| {
            if let Some(entry) = held.calls.get_mut(&attempt) {
                entry.call.leg = Some(leg.clone());
            }
        });
    }

    /// Notes the time of the answer.
    pub fn answered(&self, attempt: AttemptId, at: Timestamp) {
        self.with(|held| {
            if let Some(entry) = held.calls.get_mut(&attempt) {
                entry.call.times.answered_at.get_or_insert(at);
            }
        });
    }

    /// Removes a call that is over.
    pub fn remove(&self, attempt: AttemptId) {
        self.with(|held| held.calls.remove(&attempt));
    }

    /// Removes all calls, since none belongs to this node any more.
    pub fn clear(&self) {
        self.with(|held| held.calls.clear());
    }

    /// Returns one call.
    pub fn get(&self, attempt: AttemptId) -> Option<LostCall> {
        self.with(|held| held.calls.get(&attempt).map(|entry| entry.call.clone()))
    }

    /// Returns whether a call lives under this claim, or its attempt is being settled.
    pub fn holds(&self, claim: Claim) -> bool {
        self.with(|held| held.holds(claim))
    }

    /// Returns whether a call of this attempt lives under any claim, so that its leg must not be ended.
    pub fn lives(&self, attempt: AttemptId) -> bool {
        self.with(|held| held.calls.contains_key(&attempt))
    }

    /// Takes charge of an attempt without a call. Returns `None` if a call of it lives, or if it is already
    /// being settled.
    pub fn see_to(&self, claim: Claim) -> Option<SeenTo> {
        let taken = self.with(|held| !held.calls.contains_key(&claim.attempt) && held.seen_to.insert(claim));
        taken.then(|| SeenTo {
            claim,
            registry: self.clone(),
        })
    }

    /// Returns whether a live call is at this carrier.
    pub fn is_placed_at(&self, attempt: AttemptId, carrier: &str) -> bool {
        self.with(|held| {
            let call = held.calls.get(&attempt);
            call.is_some_and(|entry| entry.call.carrier == carrier)
        })
    }

    /// Returns the claims of all calls.
    pub fn claims(&self) -> Vec<Claim> {
        self.with(|held| held.calls.values().map(|entry| entry.call.ended.claim).collect())
    }

    /// Returns all calls with their dialers.
    pub fn all(&self) -> Vec<(AttemptId, Dialer)> {
        let dialers = |(attempt, entry): (&AttemptId, &Entry)| (*attempt, entry.dialer);
        self.with(|held| held.calls.iter().map(dialers).collect())
    }
}
