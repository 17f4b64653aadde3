//! Health of writes: how long the oldest has been waiting for its turn, and whether the disk was full recently.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::ports::store::StoreResult;

/// Time that a disk counts as full after the last write that found no space.
const FULL_FOR: Duration = Duration::from_secs(5);

/// The writes that wait for their turn. A write that runs is not counted, however long it takes: on a server the others
/// run beside it, and where there is one writer they wait for it and are counted themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteHealth(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: BTreeMap<u64, Instant>,
    full_at: Option<Instant>,
}

/// A write; it no longer waits when this is dropped.
pub(crate) struct WriteInFlight {
    turn: Turn,
}

/// Tells that a write has its turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    health: WriteHealth,
    number: u64,
}

impl WriteHealth {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) -> WriteInFlight {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, Instant::now());
        let turn = Turn {
            health: self.clone(),
            number,
        };
        WriteInFlight { turn }
    }

    /// Returns how long the oldest write has been waiting.
    pub(crate) fn lag(&self) -> Duration {
        let state = self.state();
        let oldest = state.waiting.first_key_value();
        oldest.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.state().full_at.is_some_and(|at| at.elapsed() < FULL_FOR)
    }
}

impl Turn {
    pub(crate) fn came(&self) {
        self.health.state().waiting.remove(&self.number);
    }
}

impl WriteInFlight {
    /// Returns what tells that the write has its turn.
    pub(crate) fn turn(&self) -> Turn {
        self.turn.clone()
    }

    /// Ends the write with its result.
    pub(crate) fn ended<T>(self, result: &StoreResult<T>) {
        if matches!(result, Err(error) if error.is_disk_full()) {
            self.turn.health.state().full_at = Some(Instant::now());
        }
    }
}

impl Drop for WriteInFlight {
    fn drop(&mut self) {
        self.turn.came();
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::store::StoreError;

    use super::*;

    #[test]
    fn the_oldest_waiting_write_counts_and_a_full_disk_is_remembered() {
        let health = WriteHealth::default();
        assert_eq!(health.lag(), Duration::ZERO);
        let first = health.begin();
        let second = health.begin();
        std::thread::sleep(Duration::from_millis(2));
        let lag = health.lag();
        assert!(lag >= Duration::from_millis(2));
        second.ended(&Ok(()));
        assert!(health.lag() >= lag && !health.is_full());
        first.turn().came();
        assert_eq!(health.lag(), Duration::ZERO);
        first.ended::<()>(&Err(StoreError::disk_full("13")));
        assert_eq!(health.lag(), Duration::ZERO);
        assert!(health.is_full());
    }
}
