//! How long the service itself holds audio up: from a frame off the socket to the session, and from the decision to drop
//! what plays to the message that says so. Counted for the whole process, without a lock and without memory of its own.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds in microseconds; what is longer counts in one more place.
pub const DELAY_BOUNDS_US: [u64; 14] = [
    100, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 50_000,
];

/// How many delays there were of which length.
#[derive(Debug)]
pub struct Delays([AtomicU64; DELAY_BOUNDS_US.len() + 1]);

/// From a frame that was read off the socket until its samples are in the session.
pub static FRAME_DELAYS: Delays = Delays::new();

/// From the decision to drop what the carrier has not played until `clear` is written to the socket.
pub static CLEAR_DELAYS: Delays = Delays::new();

impl Delays {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; DELAY_BOUNDS_US.len() + 1])
    }

    /// Counts one.
    pub fn record(&self, delay: Duration) {
        let us = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        let place = DELAY_BOUNDS_US.partition_point(|bound| *bound < us);
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were so far: up to each bound but not up to the one before, and the longer ones.
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
