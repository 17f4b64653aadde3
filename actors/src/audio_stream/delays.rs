//! Histograms of the delay that the service itself adds to audio: from reading a frame off the socket to the
//! session, and from the decision to drop playing audio to the message that clears it. They count for the
//! whole process, without locks and without allocating.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of the buckets in microseconds. Longer delays count in one further bucket.
pub const DELAY_BOUNDS_US: [u64; 14] = [
    100, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 50_000,
];

/// A histogram of delays.
#[derive(Debug)]
pub struct Delays([AtomicU64; DELAY_BOUNDS_US.len() + 1]);

/// Delay from reading a frame off the socket until its samples are in the session.
pub static FRAME_DELAYS: Delays = Delays::new();

/// Delay from the decision to drop audio that the carrier has not played until `clear` is written to the socket.
pub static CLEAR_DELAYS: Delays = Delays::new();

impl Delays {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; DELAY_BOUNDS_US.len() + 1])
    }

    /// Counts one delay.
    pub fn record(&self, delay: Duration) {
        let us = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        let place = DELAY_BOUNDS_US.partition_point(|bound| *bound < us);
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts so far: one per bucket (longer than the previous bound, up to its own), then the
    /// delays above the last bound.
    pub fn counts(&self) -> [u64; DELAY_BOUNDS_US.len() + 1] {
        std::array::from_fn(|place| self.0[place].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_is_counted_below_the_first_bound_that_it_does_not_exceed() {
        let delays = Delays::new();
        for us in [0, 100, 101, 5_000, 50_000, 50_001, u64::MAX / 2] {
            delays.record(Duration::from_micros(us));
        }
        assert_eq!(delays.counts(), [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2]);
    }
}
