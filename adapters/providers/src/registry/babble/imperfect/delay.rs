//! Due times of a late recogniser's events, and the bounded queue in which they wait in order.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::ports::transcriber::TranscriptEvent;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::hash::{mixed, share};

/// Maximum number of waiting events. If it is reached, the oldest interim is dropped. If there is none, the
/// oldest event becomes due at once.
const WAITING: usize = 256;

/// 95th percentile of a normal distribution, in standard deviations.
const P95_DEVIATIONS: f64 = 1.645;

/// Longest delay in milliseconds.
const LONGEST_MS: u64 = 5_000;

/// The text is not a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write milliseconds from 0 to {LONGEST_MS} as the median, or as median/95th percentile, such as 247/298")]
pub struct InvalidDelay;

/// Delay of results in milliseconds, normally distributed and limited to between a quarter of the median and
/// four times the median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Median in milliseconds.
    pub p50_ms: u64,
    /// 95th percentile in milliseconds.
    pub p95_ms: u64,
}

impl Delay {
    /// No delay.
    pub const NONE: Self = Self { p50_ms: 0, p95_ms: 0 };

    /// Parses `247` or `247/298`.
    pub fn parse(text: &str) -> Result<Self, InvalidDelay> {
        let (p50, p95) = text.split_once('/').unwrap_or((text, text));
        let read = |part: &str| part.trim().parse::<u64>().ok().filter(|ms| *ms <= LONGEST_MS);
        match (read(p50), read(p95)) {
            (Some(p50_ms), Some(p95_ms)) if p50_ms <= p95_ms => Ok(Self { p50_ms, p95_ms }),
            _ => Err(InvalidDelay),
        }
    }

    /// Returns the delay of an event with this hash.
    fn drawn(self, hash: u64) -> Duration {
        let (p50, p95) = (self.p50_ms as f64, self.p95_ms as f64);
        // The sum of twelve shares is very nearly normal, with mean 6 and deviation 1.
        let deviations = (0..12).map(|n| share(mixed(hash, n))).sum::<f64>() - 6.0;
        let ms = p50 + deviations * (p95 - p50) / P95_DEVIATIONS;
        Duration::from_micros((ms.clamp(p50 / 4.0, p50 * 4.0) * 1_000.0) as u64)
    }
}

/// Clock of one stream's events.
pub(crate) struct Late {
    delay: Delay,
    hash: u64,
    last_due: Option<Instant>,
}

impl Late {
    pub(crate) fn new(delay: Delay, seed: u64) -> Self {
        Self {
            delay,
            hash: mixed(seed, 0x6465_6c61_7900),
            last_due: None,
        }
    }

    /// Returns the due time of the next event, which is never before that of the previous event.
    fn due(&mut self, now: Instant) -> Instant {
        self.hash = mixed(self.hash, 1);
        let due = now + self.delay.drawn(self.hash);
        let due = self.last_due.map_or(due, |last| due.max(last));
        self.last_due = Some(due);
        due
    }
}

struct Waiting {
    late: Late,
    events: VecDeque<(Instant, TranscriptEvent)>,
}

/// Queue of events that are not due yet.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

impl Queue {
    pub(crate) fn new(late: Late) -> Self {
        let events = VecDeque::new();
        Self {
            waiting: Mutex::new(Waiting { late, events }),
            arrived: Notify::new(),
        }
    }

    /// Adds an event that is known now.
    pub(crate) fn push(&self, event: TranscriptEvent) {
        let now = Instant::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.events.len() >= WAITING {
            match waiting
                .events
                .iter()
                .position(|(_, event)| matches!(event, TranscriptEvent::Interim { .. }))
            {
                Some(oldest) => drop(waiting.events.remove(oldest)),
                None => waiting.events.iter_mut().take(1).for_each(|(due, _)| *due = now),
            }
        }
        let due = waiting.late.due(now);
        waiting.events.push_back((due, event));
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits for the next event until it is due.
    pub(crate) async fn next(&self) -> TranscriptEvent {
        loop {
            let due = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let due = waiting.events.front().map(|(due, _)| *due);
                if due.is_some_and(|due| due <= Instant::now())
                    && let Some((_, event)) = waiting.events.pop_front()
                {
                    return event;
                }
                due
            };
            match due {
                Some(due) => sleep_until(due).await,
                None => self.arrived.notified().await,
            }
        }
    }
}
