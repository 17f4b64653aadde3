//! The circuit breaker and the retry budget of one provider, as plain state with the time given.

use std::time::Duration;

use tokio::time::Instant;

use super::{Verdict, doubt::Doubt};

/// Failures in a row after which nothing is asked for a while.
const IN_A_ROW: u32 = 5;

/// Outcomes that are remembered; more than half of them failed opens the breaker too.
const WINDOW: u32 = 20;

/// The first pause of an unwell provider. It doubles with every probe that fails.
const UNWELL_PAUSE: Duration = Duration::from_secs(5);

/// The first pause of one that refuses us: somebody has to mend a key or pay a bill.
const REFUSED_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause: whoever has mended something waits no longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A probe that has told nothing for so long no longer keeps others back.
const PROBE_WITHIN: Duration = Duration::from_secs(15);

/// A request earns this much of a retry, so that retries are a tenth of the load at most.
const EARNED: u32 = 1;
const RETRY: u32 = 10;

/// Retries at the start, and the most that can be saved up.
const FIRST_RETRIES: u32 = 3;
const MOST_RETRIES: u32 = 10;

/// Where the breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// All requests pass.
    Closed,
    /// None passes until then.
    Open(Instant),
    /// One at a time is let through, to see; since when it is out.
    HalfOpen { probing: Option<Instant> },
}

/// The state of one provider.
#[derive(Debug)]
pub(super) struct Breaker {
    stand: Stand,
    /// Verdicts on requests that were let through under another stand count for nothing.
    epoch: u64,
    in_a_row: u32,
    /// The last outcomes, the newest in the lowest bit; set where it failed.
    window: u32,
    /// Openings since it was closed last.
    openings: u32,
    /// In parts of a retry.
    budget: u32,
    doubt: Doubt,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            stand: Stand::Closed,
            epoch: 0,
            in_a_row: 0,
            window: 0,
            openings: 0,
            budget: FIRST_RETRIES * RETRY,
            doubt: Doubt::default(),
        }
    }
}

impl Breaker {
    pub(super) fn stand(&self) -> Stand {
        self.stand
    }

    /// Lets a request through, for a verdict of this epoch, or says how long to wait.
    pub(super) fn admit(&mut self, now: Instant) -> Result<u64, Duration> {
        match self.stand {
            Stand::Closed => {}
            Stand::Open(until) if now < until => return Err(until - now),
            Stand::Open(_) => self.turn(Stand::HalfOpen { probing: Some(now) }),
            Stand::HalfOpen { probing: Some(since) } if now < since + PROBE_WITHIN => {
                return Err(since + PROBE_WITHIN - now);
            }
            Stand::HalfOpen { .. } => self.stand = Stand::HalfOpen { probing: Some(now) },
        }
        self.budget = (self.budget + EARNED).min(MOST_RETRIES * RETRY);
        Ok(self.epoch)
    }

    pub(super) fn may_retry(&mut self, now: Instant) -> bool {
        let may = !self.is_open(now) && self.budget >= RETRY;
        if may {
            self.budget -= RETRY;
        }
        may
    }

    /// Whether nothing new should be begun now.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        self.is_open(now) || self.doubt.holds(now)
    }

    /// Whether that was not found to be over yet.
    pub(super) fn is_unproved(&self) -> bool {
        self.stand != Stand::Closed || self.doubt.stands()
    }

    /// Whether it answers, but refuses what different calls ask: who is under way may go on.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubt.stands()
    }

    fn is_open(&self, now: Instant) -> bool {
        matches!(self.stand, Stand::Open(until) if now < until)
    }

    pub(super) fn succeeded(&mut self, epoch: u64) {
        if epoch != self.epoch {
            return;
        }
        self.in_a_row = 0;
        self.doubt = Doubt::default();
        self.remember(false);
        if matches!(self.stand, Stand::HalfOpen { .. }) {
            self.window = 0;
            self.openings = 0;
            self.turn(Stand::Closed);
        }
    }

    pub(super) fn failed(&mut self, epoch: u64, verdict: Verdict, now: Instant) {
        if epoch != self.epoch {
            return;
        }
        match verdict {
            // It answers, but what was asked says nothing about how well it is.
            Verdict::OurFault => self.let_go(epoch),
            Verdict::Refused => self.open(REFUSED_PAUSE, now),
            Verdict::Unwell => {
                self.in_a_row += 1;
                self.doubt.confirmed(now);
                self.remember(true);
                let probed = matches!(self.stand, Stand::HalfOpen { .. });
                if probed || self.in_a_row >= IN_A_ROW || self.window.count_ones() > WINDOW / 2 {
                    self.open(UNWELL_PAUSE, now);
                }
            }
        }
    }

    /// What this call asked was refused, and it says nothing about how well it is, unless others are refused too.
    pub(super) fn refused(&mut self, epoch: u64, call: u64, now: Instant) {
        if epoch == self.epoch {
            self.doubt.refused(call, now);
            self.let_go(epoch);
        }
    }

    /// Nothing came of the request; another may probe.
    pub(super) fn let_go(&mut self, epoch: u64) {
        if epoch == self.epoch && matches!(self.stand, Stand::HalfOpen { .. }) {
            self.stand = Stand::HalfOpen { probing: None };
        }
    }

    fn remember(&mut self, failed: bool) {
        self.window = (self.window << 1 | u32::from(failed)) & ((1 << WINDOW) - 1);
    }

    fn open(&mut self, first: Duration, now: Instant) {
        let pause = first.saturating_mul(1 << self.openings.min(16)).min(LONGEST_PAUSE);
        self.openings += 1;
        self.in_a_row = 0;
        self.window = 0;
        self.turn(Stand::Open(now + pause));
    }

    fn turn(&mut self, stand: Stand) {
        self.stand = stand;
        self.epoch += 1;
    }
}
