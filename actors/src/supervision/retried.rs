//! Log lines of a carrier request that is retried: one when it begins to fail and one when it ends, however often it
//! is tried between.

use std::fmt::Display;

use domain::id::AttemptId;

/// A request about one call, and how often it has failed.
#[derive(Debug)]
pub struct Retried {
    what: &'static str,
    attempt: AttemptId,
    failures: u32,
}

impl Retried {
    /// Creates a request that has not failed. `what` names it in the log.
    pub fn new(what: &'static str, attempt: AttemptId) -> Self {
        Self {
            what,
            attempt,
            failures: 0,
        }
    }

    /// Counts a failure. Logs only the first one as a warning, and returns whether it was the first.
    pub fn failed(&mut self, error: &impl Display) -> bool {
        let (what, attempt) = (self.what, self.attempt);
        self.failures = self.failures.saturating_add(1);
        let is_first = self.failures == 1;
        if is_first {
            tracing::warn!(%attempt, request = what, %error, "carrier request failed, retrying");
        } else {
            tracing::debug!(%attempt, request = what, %error, "carrier request failed again");
        }
        is_first
    }

    /// Logs the success of a request that had failed, and returns whether it had.
    pub fn succeeded(&self) -> bool {
        let (what, attempt, failures) = (self.what, self.attempt, self.failures);
        if failures > 0 {
            tracing::info!(%attempt, request = what, failures, "carrier request succeeded");
        }
        failures > 0
    }

    /// Logs that a request is not tried again.
    pub fn given_up(&self) {
        let (what, attempt, failures) = (self.what, self.attempt, self.failures);
        tracing::error!(%attempt, request = what, failures, "carrier request given up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_fails_many_times_is_one_line_at_its_beginning_and_one_at_its_end() {
        let mut request = Retried::new("hang-up", AttemptId::new());
        assert!(!request.succeeded(), "nothing to tell");
        let told = (0..100).filter(|_| request.failed(&"no such host"));
        assert_eq!(told.count(), 1);
        assert!(request.succeeded());
    }
}
