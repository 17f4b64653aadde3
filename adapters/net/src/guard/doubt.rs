//! Doubt about a provider that answers but rejects requests. One call may send a wrong request. If several
//! calls in a row are rejected and none succeeds, the service itself is misconfigured, for example with a
//! wrong address. This is plain state; the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

/// Number of different calls rejected in a row that raises a doubt.
const CALLS: usize = 3;

/// First pause before anything new starts. It doubles each time the next request is rejected too.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Rejections held against a provider that answers.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Calls rejected since the last success.
    calls: Vec<u64>,
    until: Option<Instant>,
    pauses: u32,
}

impl Doubt {
    /// Records that a request of this call was rejected.
    pub(super) fn refused(&mut self, call: u64, now: Instant) {
        if self.calls.len() < CALLS && !self.calls.contains(&call) {
            self.calls.push(call);
        }
        if self.calls.len() == CALLS {
            self.goes_on(now);
        }
    }

    /// Records that a probe failed too; has an effect only while there is doubt.
    pub(super) fn confirmed(&mut self, now: Instant) {
        if self.stands() {
            self.goes_on(now);
        }
    }

    fn goes_on(&mut self, now: Instant) {
        if !self.holds(now) {
            let pause = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(8)).min(LONGEST_PAUSE);
            self.until = Some(now + pause);
            self.pauses += 1;
        }
    }

    /// Returns whether there is a doubt that no success has cleared.
    pub(super) fn stands(&self) -> bool {
        self.until.is_some()
    }

    /// Returns whether it is too early for the next probe.
    pub(super) fn holds(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}
