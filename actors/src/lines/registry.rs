//! What must be known of the live calls if the line pool itself crashes: kept outside the actor, by the node.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Dialer, LostCall};
use crate::{
    id::AttemptId,
    ports::{carrier::CarrierCallId, store::Claim},
};

/// The live calls of a node, each as it would have to be settled. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CallRegistry(Arc<Mutex<HashMap<AttemptId, (Dialer, LostCall)>>>);

impl CallRegistry {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<AttemptId, (Dialer, LostCall)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call begins.
    pub fn insert(&self, dialer: Dialer, call: LostCall) {
        self.with(|calls| calls.insert(call.ended.claim.attempt, (dialer, call)));
    }

    /// Its leg got an id.
    pub fn leg_known(&self, attempt: AttemptId, leg: &CarrierCallId) {
        self.with(|calls| {
            if let Some((_, call)) = calls.get_mut(&attempt) {
                call.leg = Some(leg.clone());
            }
        });
    }

    /// It is over.
    pub fn remove(&self, attempt: AttemptId) {
        self.with(|calls| calls.remove(&attempt));
    }

    /// One call.
    pub fn get(&self, attempt: AttemptId) -> Option<LostCall> {
        self.with(|calls| calls.get(&attempt).map(|(_, call)| call.clone()))
    }

    /// Whether a live call is one of this carrier.
    pub fn is_placed_at(&self, attempt: AttemptId, carrier: &str) -> bool {
        self.with(|calls| calls.get(&attempt).is_some_and(|(_, call)| call.carrier == carrier))
    }

    /// What they are held by.
    pub fn claims(&self) -> Vec<Claim> {
        self.with(|calls| calls.values().map(|(_, call)| call.ended.claim).collect())
    }

    /// All of them with their dialers.
    pub fn all(&self) -> Vec<(AttemptId, Dialer)> {
        self.with(|calls| calls.iter().map(|(attempt, (dialer, _))| (*attempt, *dialer)).collect())
    }
}
