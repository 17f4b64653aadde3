//! What follows an attempt that ended: a retry, a follow-up, or nothing. Free of I/O.

use std::time::Duration;

use super::Schedule;
use crate::{
    lines::UNKNOWN_FATE,
    ports::store::{AttemptKind, ConversationStatus, FollowUp, NextAttempt, Outcome, Tries},
    time::Timestamp,
};

/// What decides about further attempts, as it is when one ends.
#[derive(Debug, Clone, Default)]
pub struct RetryRules {
    /// The agent's `retryCount`: how often each planned call is repeated.
    pub retry_count: i64,
    /// The agent's `retryDelay`, minutes.
    pub retry_delay_min: i64,
    /// The campaign's follow-ups.
    pub follow_up: FollowUp,
    /// The attached schedule and its first opening: nothing is due outside its windows.
    pub schedule: Option<(Schedule, Timestamp)>,
}

/// How an outcome bears on further attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearing {
    /// The call did not get through: it is tried again, then followed up.
    NotReached,
    /// The call failed otherwise, or a machine took it: it is followed up.
    Missed,
    /// Nothing follows.
    Settled,
}

impl Bearing {
    fn of(outcome: &Outcome) -> Self {
        match outcome.status {
            ConversationStatus::Completed if outcome.voicemail => Self::Missed,
            ConversationStatus::Failed => Self::of_error(outcome.error.as_deref().unwrap_or_default()),
            ConversationStatus::Completed
            | ConversationStatus::Cancelled
            | ConversationStatus::InProgress
            | ConversationStatus::Scheduled => Self::Settled,
        }
    }

    fn of_error(error: &str) -> Self {
        match error {
            "busy" | "no-answer" => Self::NotReached,
            "invalid-number" => Self::Settled,
            // Somebody may have been called.
            unknown if unknown.starts_with(UNKNOWN_FATE) => Self::Settled,
            carrier if carrier.starts_with("carrier-error") => Self::NotReached,
            _ => Self::Missed,
        }
    }
}

/// Whether anything can follow: if not, the rules need not be read.
pub fn may_be_followed(outcome: &Outcome) -> bool {
    Bearing::of(outcome) != Bearing::Settled
}

/// The attempt after the one at `tries` that ended now: retries first, then follow-ups.
pub fn next_attempt(rules: &RetryRules, tries: Tries, outcome: &Outcome, now: Timestamp) -> Option<NextAttempt> {
    let bearing = Bearing::of(outcome);
    let (kind, after_min) = if bearing == Bearing::NotReached && tries.retry < rules.retry_count {
        (AttemptKind::Retry, rules.retry_delay_min)
    } else if bearing != Bearing::Settled {
        (AttemptKind::FollowUp, follow_up_after_min(&rules.follow_up, tries)?)
    } else {
        return None;
    };
    let wait = Duration::from_secs(u64::try_from(after_min).unwrap_or(0).saturating_mul(60));
    let due_at = now.plus(wait);
    let due_at = match &rules.schedule {
        Some((schedule, opens_from)) => schedule.opening(*opens_from, due_at).opens_at,
        None => due_at,
    };
    Some(NextAttempt { kind, due_at })
}

fn follow_up_after_min(follow_up: &FollowUp, tries: Tries) -> Option<i64> {
    let done = usize::try_from(tries.follow_up).ok()?;
    let planned = follow_up.enabled && tries.follow_up < i64::from(follow_up.attempts);
    let interval = follow_up.intervals_minutes.get(done).filter(|_| planned)?;
    Some(i64::from(*interval))
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
