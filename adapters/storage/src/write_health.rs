//! Health of writes: how long the oldest has been waiting, and whether the disk was full recently.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::ports::store::StoreResult;

/// Time that a disk counts as full after the last write that found no space.
const FULL_FOR: Duration = Duration::from_secs(5);

/// The writes in progress.
#[derive(Debug, Default)]
pub(super) struct WriteHealth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
    full_at: Option<Instant>,
}

/// A write in progress; it is over when this is dropped.
pub(super) struct WriteInFlight<'a> {
    health: &'a WriteHealth,
    number: u64,
}

impl WriteHealth {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) -> WriteInFlight<'_> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number, Instant::now());
        WriteInFlight { health: self, number }
    }

    /// Returns how long the oldest write has been waiting.
    pub(super) fn lag(&self) -> Duration {
        let state = self.state();
        let oldest = state.under_way.first_key_value();
        oldest.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    pub(super) fn is_full(&self) -> bool {
        self.state().full_at.is_some_and(|at| at.elapsed() < FULL_FOR)
    }
}

impl WriteInFlight<'_> {
    /// Ends the write with its result.
    pub(super) fn ended<T>(self, result: &StoreResult<T>) {
        if matches!(result, Err(error) if error.is_disk_full()) {
            self.health.state().full_at = Some(Instant::now());
        }
    }
}

impl Drop for WriteInFlight<'_> {
    fn drop(&mut self) {
        self.health.state().under_way.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::store::StoreError;

    use super::*;

    #[test]
    fn the_oldest_write_counts_and_a_full_disk_is_remembered() {
        let health = WriteHealth::default();
        assert_eq!(health.lag(), Duration::ZERO);
        let first = health.begin();
        let second = health.begin();
        std::thread::sleep(Duration::from_millis(2));
        let lag = health.lag();
        assert!(lag >= Duration::from_millis(2));
        second.ended(&Ok(()));
        assert!(health.lag() >= lag && !health.is_full());
        first.ended::<()>(&Err(StoreError::disk_full("13")));
        assert_eq!(health.lag(), Duration::ZERO);
        assert!(health.is_full());
    }
}
