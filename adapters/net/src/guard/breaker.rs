//! Circuit breaker and retry budget of one provider, as plain state; the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

use super::doubt::Doubt;

/// Consecutive failures that open the breaker.
const IN_A_ROW: u32 = 5;

/// Number of outcomes remembered; the breaker also opens if more than half of them are failures.
const WINDOW: u32 = 20;

/// First pause of an unhealthy provider. It doubles with every failed probe.
const UNHEALTHY_PAUSE: Duration = Duration::from_secs(5);

/// First pause of a provider that rejects us; somebody has to fix a key or pay a bill.
const REFUSED_PAUSE: Duration = Duration::from_secs(60);

/// Longest pause, so that a fix takes effect within this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Time after which a probe without a result no longer blocks the next probe.
const PROBE_WITHIN: Duration = Duration::from_secs(15);

/// Retry budget: a request earns a tenth of a retry, so retries are at most a tenth of the load.
const EARNED: u32 = 1;
const RETRY: u32 = 10;

/// Retries available at the start, and the most that can be saved up.
const FIRST_RETRIES: u32 = 3;
const MOST_RETRIES: u32 = 10;

/// Meaning of a failure for the provider's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The provider was unavailable, busy, too slow or broke its own format. Counts as a failure.
    Unhealthy,
    /// The provider rejected our key or account (401, 402, 403). Requests stop for a longer pause.
    Refused,
    /// Our request was wrong (400, 404, 413, 422). Does not count as a failure, unless requests of several
    /// calls in a row are wrong.
    OurFault,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unhealthy => "unwell",
            Self::Refused => "refused",
            Self::OurFault => "our_fault",
        }
    }
}

/// State of the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// All requests pass.
    Closed,
    /// No request passes until this time.
    Open(Instant),
    /// One request at a time passes as a probe; `probing` is the time when the current one started.
    HalfOpen { probing: Option<Instant> },
}

/// State of one provider.
#[derive(Debug)]
pub(super) struct Breaker {
    stand: Stand,
    /// Counts state changes; results of requests admitted in an earlier epoch are ignored.
    epoch: u64,
    in_a_row: u32,
    /// Last outcomes, the newest in the lowest bit; a set bit is a failure.
    window: u32,
    /// Number of openings since the breaker was last closed.
    openings: u32,
    /// Retry budget, in units of 1/[`RETRY`] of a retry.
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

    /// Lets a request through and returns the epoch for its verdict, or returns how long to wait.
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

    /// Returns whether nothing new should start now.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        self.is_open(now) || self.doubt.holds(now)
    }

    /// Returns whether the breaker is not closed or the doubt is not cleared yet, even if the pause is over.
    pub(super) fn is_unproved(&self) -> bool {
        self.stand != Stand::Closed || self.doubt.stands()
    }

    /// Returns whether the provider answers but rejects requests of different calls. Calls in progress may continue.
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
            // The provider answered; a wrong request says nothing about its health.
            Verdict::OurFault => self.let_go(epoch),
            Verdict::Refused => self.open(REFUSED_PAUSE, now),
            Verdict::Unhealthy => {
                self.in_a_row += 1;
                self.doubt.confirmed(now);
                self.remember(true);
                let probed = matches!(self.stand, Stand::HalfOpen { .. });
                if probed || self.in_a_row >= IN_A_ROW || self.window.count_ones() > WINDOW / 2 {
                    self.open(UNHEALTHY_PAUSE, now);
                }
            }
        }
    }

    /// Records a rejected request of this call. It counts against the provider only if other calls are rejected too.
    pub(super) fn refused(&mut self, epoch: u64, call: u64, now: Instant) {
        if epoch == self.epoch {
            self.doubt.refused(call, now);
            self.let_go(epoch);
        }
    }

    /// Records that a request had no result, so that another one may probe.
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
