//! Waiting longer after each failure: for providers and the database, and for restarts of children.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Doubles from `first` to `longest`.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Nothing has failed yet.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            failures: 0,
        }
    }

    /// One more failure: how long to wait now.
    pub fn failed(&mut self) -> Duration {
        let wait = self.first.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    /// How many failures there were in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// It works again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Restarts of one child within the last minute.
#[derive(Debug, Clone, Default)]
pub struct Restarts(VecDeque<Instant>);

/// Crashes are counted within this time.
const MEMORY: Duration = Duration::from_secs(60);

impl Restarts {
    /// It crashed at `now`: how often within the last minute, this time included.
    pub fn crashed(&mut self, now: Instant) -> usize {
        while self.0.front().is_some_and(|at| now.duration_since(*at) >= MEMORY) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        self.0.len()
    }

    /// How long to wait before the restart after the `crashes`-th crash of a minute: 50 ms, doubling; a whole minute
    /// beyond the fifth, so that a child that cannot live does not eat the processor.
    pub fn delay(crashes: usize) -> Duration {
        match crashes {
            0..=5 => Duration::from_millis(25 << crashes),
            _ => MEMORY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_over_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let waits: Vec<u128> = (0..6).map(|_| backoff.failed().as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        for _ in 0..100 {
            assert_eq!(backoff.failed(), Duration::from_secs(1));
        }
        backoff.reset();
        assert_eq!(backoff.failed().as_millis(), 100);
    }

    #[test]
    fn crashes_are_forgotten_after_a_minute() {
        let mut restarts = Restarts::default();
        let start = Instant::now();
        assert_eq!(restarts.crashed(start), 1);
        assert_eq!(restarts.crashed(start + Duration::from_secs(59)), 2);
        assert_eq!(restarts.crashed(start + Duration::from_secs(60)), 2);
        assert_eq!(restarts.crashed(start + Duration::from_secs(600)), 1);
        assert_eq!(Restarts::delay(1), Duration::from_millis(50));
        assert_eq!(Restarts::delay(6), MEMORY);
    }
}
