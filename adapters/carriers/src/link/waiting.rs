//! Media sockets that wait for their call to take them. Each carrier has its own limit, and each call a very
//! small one, so that opening one address again and again blocks nobody else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use domain::id::AttemptId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::locked;

/// Waiting sockets per carrier. A real carrier's sockets wait for milliseconds.
const MOST: usize = 512;
/// Waiting sockets per carrier whose calls still ring. They wait longer and do not count towards the limit above.
const MOST_EARLY: usize = 4_096;
/// Waiting sockets per call: one, plus one that replaces it before the first is known to be dead.
const MOST_OF_A_CALL: usize = 2;

/// Slots for the waiting sockets of one carrier.
#[derive(Debug)]
pub(super) struct WaitingRoom {
    places: Arc<Semaphore>,
    early: Arc<Semaphore>,
    of_calls: Mutex<HashMap<AttemptId, usize>>,
}

/// Reason why a socket cannot wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPlace {
    #[error("{MOST_OF_A_CALL} media sockets already wait for this call")]
    OfCall,
    #[error("too many media sockets of this carrier wait for their calls")]
    OfCarrier,
}

/// Slot of one socket; freed on drop.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<WaitingRoom>,
    attempt: AttemptId,
    _permit: OwnedSemaphorePermit,
}

impl WaitingRoom {
    /// Creates a waiting room with all slots free.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(MOST)),
            early: Arc::new(Semaphore::new(MOST_EARLY)),
            of_calls: Mutex::default(),
        })
    }

    /// Takes a slot for one more socket of a call. `early` means that the call still rings.
    pub(super) fn enter(self: &Arc<Self>, attempt: AttemptId, early: bool) -> Result<Place, NoPlace> {
        let places = if early { &self.early } else { &self.places };
        let mut of_calls = locked(&self.of_calls);
        let of_call = of_calls.get(&attempt).copied().unwrap_or(0);
        if of_call >= MOST_OF_A_CALL {
            return Err(NoPlace::OfCall);
        }
        let permit = places.clone().try_acquire_owned().map_err(|_| NoPlace::OfCarrier)?;
        of_calls.insert(attempt, of_call + 1);
        Ok(Place {
            room: self.clone(),
            attempt,
            _permit: permit,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_calls = locked(&self.room.of_calls);
        match of_calls.get_mut(&self.attempt) {
            Some(more) if *more > 1 => *more -= 1,
            _ => drop(of_calls.remove(&self.attempt)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_two_places_and_gets_them_back() {
        let (room, call) = (WaitingRoom::new(), AttemptId::new());
        let first = room.enter(call, false).unwrap();
        let second = room.enter(call, true).unwrap();
        assert_eq!(room.enter(call, false).err(), Some(NoPlace::OfCall));
        assert!(room.enter(AttemptId::new(), false).is_ok());
        drop(first);
        let third = room.enter(call, false).unwrap();
        assert_eq!(room.enter(call, true).err(), Some(NoPlace::OfCall));
        drop((second, third));
        assert!(
            locked(&room.of_calls).is_empty(),
            "nothing is kept of calls that wait no more"
        );
    }

    #[test]
    fn a_carrier_has_its_own_share_and_early_ones_another() {
        let room = WaitingRoom::new();
        let full: Vec<_> = (0..MOST)
            .map(|_| room.enter(AttemptId::new(), false).unwrap())
            .collect();
        assert_eq!(room.enter(AttemptId::new(), false).err(), Some(NoPlace::OfCarrier));
        assert!(room.enter(AttemptId::new(), true).is_ok());
        assert!(WaitingRoom::new().enter(AttemptId::new(), false).is_ok());
        drop(full);
        assert!(room.enter(AttemptId::new(), false).is_ok());
    }
}
