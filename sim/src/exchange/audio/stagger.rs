//! Start of each telephone's frames. Real telephones are not in step with each other; telephones dialed
//! together are, unless their frames are spread.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// Interval between two frames of a telephone.
pub(crate) const FRAME: Duration = Duration::from_millis(20);

/// Places within a frame, a millisecond apart: tokio's timer is not finer.
const PLACES: u32 = 20;

/// Coprime with [`PLACES`], so that successive telephones take all places in turn.
const STEP: u32 = 7;

/// Assigns each telephone the start of its frames.
#[derive(Debug)]
pub(crate) struct Stagger {
    epoch: Instant,
    taken: AtomicU32,
    spread: bool,
}

impl Stagger {
    /// With `spread`, frames start in turn at each of 20 milliseconds; without it, when the media opens.
    pub(crate) fn new(spread: bool) -> Self {
        Self {
            epoch: Instant::now(),
            taken: AtomicU32::new(0),
            spread,
        }
    }

    /// Returns the time of the next telephone's first frame. Its media opened at `opened`; the frame comes
    /// one frame later or, with `spread`, up to two.
    pub(crate) fn first_frame(&self, opened: Instant) -> Instant {
        if !self.spread {
            return opened + FRAME;
        }
        let place = self.taken.fetch_add(1, Ordering::Relaxed) % PLACES * STEP % PLACES;
        let place_us = u64::from(place) * 1_000;
        let frame_us = FRAME.as_micros() as u64;
        let since_us = opened.duration_since(self.epoch).as_micros() as u64;
        let wait_us = (place_us + frame_us - since_us % frame_us) % frame_us;
        opened + FRAME + Duration::from_micros(wait_us)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn telephones_that_open_together_are_spread_over_the_whole_frame() {
        let stagger = Stagger::new(true);
        tokio::time::advance(Duration::from_micros(3_300)).await;
        let opened = Instant::now();
        let firsts: BTreeSet<Duration> = (0..20).map(|_| stagger.first_frame(opened) - opened).collect();
        assert_eq!(firsts.len(), 20);
        assert!(
            firsts.iter().all(|wait| (FRAME..FRAME * 2).contains(wait)),
            "{firsts:?}"
        );
        let steps: BTreeSet<Duration> = firsts.iter().zip(firsts.iter().skip(1)).map(|(a, b)| *b - *a).collect();
        assert_eq!(steps, BTreeSet::from([Duration::from_millis(1)]));
    }

    #[tokio::test(start_paused = true)]
    async fn otherwise_frames_begin_with_the_media() {
        let opened = Instant::now();
        assert_eq!(Stagger::new(false).first_frame(opened), opened + FRAME);
    }
}
