//! A faulty path from the phone to the service: frames arrive late, twice, swapped, in bursts or not at all.
//! Pure; the result is always the same for the same seed.

use std::collections::VecDeque;

use super::sound::Noise;
use crate::exchange::script::MediaFaults;

/// A delayed frame.
struct Held {
    due_ms: u64,
    text: String,
}

/// Path of one phone's frames.
pub(crate) struct Faults {
    faults: MediaFaults,
    noise: Noise,
    sent: u64,
    /// Delayed frames in order of arrival.
    held: VecDeque<Held>,
    /// Frame that arrives after the next one.
    swapped: Option<String>,
    latest_due_ms: u64,
}

impl Faults {
    /// Returns `None` if `wire` has no faults.
    pub(crate) fn new(faults: MediaFaults) -> Option<Self> {
        let faulty = MediaFaults {
            seed: faults.seed,
            ..MediaFaults::default()
        } != faults;
        faulty.then(|| Self {
            faults,
            noise: Noise::new(faults.seed),
            sent: 0,
            held: VecDeque::new(),
            swapped: None,
            latest_due_ms: 0,
        })
    }

    /// Takes a frame that leaves the phone at `now_ms` and appends to `out` the frames that arrive now.
    pub(crate) fn pass(&mut self, now_ms: u64, frame: String, out: &mut Vec<String>) {
        self.sent += 1;
        let due_ms = self.due(now_ms);
        let every = |n: Option<u32>| n.is_some_and(|n| n > 0 && self.sent.is_multiple_of(u64::from(n)));
        let (lost, doubled, swaps) = (
            every(self.faults.lose_every),
            every(self.faults.duplicate_every),
            every(self.faults.swap_every),
        );
        if !lost && swaps && self.swapped.is_none() {
            self.swapped = Some(frame);
        } else if !lost {
            let twin = doubled.then(|| frame.clone());
            let behind = self.swapped.take();
            let texts = [Some(frame), twin, behind].into_iter().flatten();
            self.held.extend(texts.map(|text| Held { due_ms, text }));
        }
        while self.held.front().is_some_and(|held| held.due_ms <= now_ms) {
            out.extend(self.held.pop_front().map(|held| held.text));
        }
    }

    /// Returns the arrival time of a frame that is sent now, never earlier than that of a previous frame.
    fn due(&mut self, now_ms: u64) -> u64 {
        let late_ms = self.noise.bits() % (self.faults.jitter_ms + 1);
        let mut due_ms = now_ms + late_ms;
        if let Some(frames) = self.faults.burst_frames.map(u64::from).filter(|frames| *frames > 1) {
            // The last frame of a burst releases the others.
            let rest = (frames - self.sent % frames) % frames;
            due_ms = due_ms.max(now_ms + rest * 20);
        }
        if let Some(stall) = self.faults.stall
            && (stall.from_ms..stall.from_ms.saturating_add(stall.ms)).contains(&now_ms)
        {
            due_ms = due_ms.max(stall.from_ms.saturating_add(stall.ms));
        }
        self.latest_due_ms = self.latest_due_ms.max(due_ms);
        self.latest_due_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::script::Stall;

    /// Returns the frames that arrive in each of `frames` frames of 20 ms.
    fn run(faults: MediaFaults, frames: u64) -> Vec<Vec<u64>> {
        let mut faults = Faults::new(faults).unwrap();
        let pass = |n: u64| {
            let mut out = Vec::new();
            faults.pass(n * 20, n.to_string(), &mut out);
            out.iter().map(|text| text.parse().unwrap()).collect()
        };
        (1..=frames).map(pass).collect()
    }

    const NONE: MediaFaults = MediaFaults {
        seed: 0,
        jitter_ms: 0,
        duplicate_every: None,
        swap_every: None,
        lose_every: None,
        burst_frames: None,
        stall: None,
    };

    #[test]
    fn a_sound_line_has_no_faults() {
        assert!(Faults::new(MediaFaults { seed: 9, ..NONE }).is_none());
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let (twice, swapped, lost) = (
            MediaFaults {
                duplicate_every: Some(2),
                ..NONE
            },
            MediaFaults {
                swap_every: Some(2),
                ..NONE
            },
            MediaFaults {
                lose_every: Some(3),
                ..NONE
            },
        );
        assert_eq!(run(twice, 4), [vec![1], vec![2, 2], vec![3], vec![4, 4]]);
        assert_eq!(run(swapped, 5), [vec![1], vec![], vec![3, 2], vec![], vec![5, 4]]);
        assert_eq!(run(lost, 4), [vec![1], vec![2], vec![], vec![4]]);
        let burst = MediaFaults {
            burst_frames: Some(3),
            ..NONE
        };
        assert_eq!(
            run(burst, 6),
            [vec![], vec![], vec![1, 2, 3], vec![], vec![], vec![4, 5, 6]]
        );
        let stall = Some(Stall { from_ms: 40, ms: 60 });
        let stalled = run(MediaFaults { stall, ..NONE }, 6);
        assert_eq!(stalled, [vec![1], vec![], vec![], vec![], vec![2, 3, 4, 5], vec![6]]);
    }

    #[test]
    fn jitter_keeps_the_order_and_loses_nothing() {
        let faults = MediaFaults {
            jitter_ms: 90,
            seed: 4,
            ..NONE
        };
        let came = run(faults, 500);
        assert!(came.iter().any(Vec::is_empty) && came.iter().any(|frame| frame.len() > 1));
        let all: Vec<u64> = came.concat();
        assert!(all.len() > 490 && all.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_ne!(run(MediaFaults { seed: 5, ..faults }, 500), run(faults, 500));
    }
}
