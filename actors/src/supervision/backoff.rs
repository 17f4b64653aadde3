//! Delays that grow with each failure, for providers, the database and restarts of children.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Delay that doubles from `first` to `longest`.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Creates a backoff without failures.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            failures: 0,
        }
    }

    /// Counts a failure. Returns how long to wait now.
    pub fn failed(&mut self) -> Duration {
        let wait = self.first.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    /// Returns the number of successive failures.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Resets the failures after a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Restarts of one child within the last minute.
#[derive(Debug, Clone, Default)]
pub struct Restarts(VecDeque<Instant>);

/// Time within which crashes are counted.
const MEMORY: Duration = Duration::from_secs(60);

impl Restarts {
    /// Counts a crash at `now`. Returns the number of crashes within the last minute, including this one.
    pub fn crashed(&mut self, now: Instant) -> usize {
        while self.0.front().is_some_and(|at| now.duration_since(*at) >= MEMORY) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        self.0.len()
    }

    /// Returns the wait before the restart after the `crashes`-th crash of a minute: 50 ms, doubling. After
    /// the fifth it is a whole minute, so that a child that cannot live does not use up the processor.
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
