//! Doubt about a provider that answers, but refuses what it is asked. One call may ask amiss; when several do in a row
//! and none asks aright, it is the service that asks amiss, or asks at the wrong address. As plain state.

use std::time::Duration;

use tokio::time::Instant;

/// Different calls in a row.
const CALLS: usize = 3;

/// The first pause before something new is begun. It doubles each time that the next one is refused too.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is held against a provider that answers.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Those that were refused since one was not.
    calls: Vec<u64>,
    until: Option<Instant>,
    pauses: u32,
}

impl Doubt {
    /// What this call asked was refused.
    pub(super) fn refused(&mut self, call: u64, now: Instant) {
        if self.calls.len() < CALLS && !self.calls.contains(&call) {
            self.calls.push(call);
        }
        if self.calls.len() == CALLS {
            self.goes_on(now);
        }
    }

    /// Somebody looked, and it is no better; counts only where there is doubt.
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

    /// Whether there is doubt that nothing has cleared.
    pub(super) fn stands(&self) -> bool {
        self.until.is_some()
    }

    /// Whether it is too early to look again.
    pub(super) fn holds(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}
