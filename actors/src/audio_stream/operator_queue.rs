//! Audio of an operator on its way from a socket to the audio stream.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc;

/// Most audio that waits for the stream, in milliseconds.
const MOST_WAITING_MS: usize = 400;

/// An operator's side of a call, at the audio stream.
pub struct OperatorLeg {
    /// Audio of the operator.
    pub audio: Arc<OperatorQueue>,
    /// Takes the user's audio. Audio for which it has no room is lost.
    pub hears: mpsc::Sender<Vec<i16>>,
}

/// Audio of an operator that the stream has not taken. The oldest is dropped if there is too much.
pub struct OperatorQueue {
    waiting: Mutex<Waiting>,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    samples: VecDeque<i16>,
    lost: u64,
    /// Whether the stream was woken since it last emptied the queue.
    announced: bool,
    wake: Option<Box<dyn Fn() + Send + Sync>>,
}

impl OperatorQueue {
    /// Creates an empty queue for audio of this rate in Hz.
    pub fn new(sample_rate: u32) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            most: sample_rate as usize * MOST_WAITING_MS / 1_000,
        })
    }

    /// Adds audio, and wakes the stream.
    pub fn push(&self, samples: &[i16]) {
        let mut waiting = self.lock();
        let kept = samples.len().min(self.most);
        let excess = (waiting.samples.len() + kept).saturating_sub(self.most);
        waiting.samples.drain(..excess);
        waiting.samples.extend(&samples[samples.len() - kept..]);
        waiting.lost += (excess + samples.len() - kept) as u64;
        waiting.announce();
    }

    /// Counts audio that was lost elsewhere, in samples.
    pub(super) fn lose(&self, samples: usize) {
        self.lock().lost += samples as u64;
    }

    /// Returns the number of samples lost since this was asked last.
    pub fn take_lost(&self) -> u64 {
        std::mem::take(&mut self.lock().lost)
    }

    /// Sets what wakes the stream, and wakes it if audio waits.
    pub(super) fn set_waker(&self, wake: impl Fn() + Send + Sync + 'static) {
        let mut waiting = self.lock();
        waiting.wake = Some(Box::new(wake));
        waiting.announce();
    }

    /// Moves all waiting audio to `into`.
    pub(super) fn drain(&self, into: &mut Vec<i16>) {
        let mut waiting = self.lock();
        waiting.announced = false;
        into.extend(waiting.samples.drain(..));
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn announce(&mut self) {
        if let Some(wake) = self
            .wake
            .as_ref()
            .filter(|_| !self.samples.is_empty() && !self.announced)
        {
            wake();
            self.announced = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_waits_is_bounded_and_the_newest_stays() {
        let queue = OperatorQueue::new(1_000);
        queue.push(&[1; 300]);
        queue.push(&[2; 200]);
        let mut taken = Vec::new();
        queue.drain(&mut taken);
        assert_eq!((taken.len(), taken[0], queue.take_lost()), (400, 1, 100));
        queue.push(&[[3; 50].as_slice(), &[4; 400]].concat());
        taken.clear();
        queue.drain(&mut taken);
        assert!(taken.iter().all(|sample| *sample == 4) && taken.len() == 400);
        assert_eq!((queue.take_lost(), queue.take_lost()), (50, 0));
    }

    #[test]
    fn the_stream_is_woken_once_for_all_that_waits() {
        let queue = OperatorQueue::new(8_000);
        queue.push(&[1]);
        let woken = Arc::new(AtomicUsize::new(0));
        let count = woken.clone();
        queue.set_waker(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        queue.push(&[2]);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        queue.drain(&mut Vec::new());
        queue.push(&[3]);
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }
}
