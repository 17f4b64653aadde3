//! Decides what follows an attempt that ended: a retry, a follow-up, or nothing. Free of I/O.

use std::time::Duration;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::{
    callback_time::SpokenTime,
    ports::store::{AttemptKind, ConversationStatus, FollowUp, NextAttempt, Outcome, Tries},
    schedule::Schedule,
    time::Timestamp,
};

pub use crate::ports::store::UNKNOWN_OUTCOME;

/// Rules for further attempts, as they are when an attempt ends.
#[derive(Debug, Clone, Default)]
pub struct RetryRules {
    /// The agent's `retryCount`: repetitions of each planned call.
    pub retry_count: i64,
    /// The agent's `retryDelay`, in minutes.
    pub retry_delay_min: i64,
    /// The campaign's follow-ups.
    pub follow_up: FollowUp,
    /// The attached schedule and its first opening; nothing is due outside its windows.
    pub schedule: Option<(Schedule, Timestamp)>,
    /// Time zone of spoken times: the campaign's, otherwise the agent's.
    pub zone: Tz,
}

impl RetryRules {
    /// Returns this instant, or the next opening of the window.
    fn in_window(&self, due_at: Timestamp) -> Timestamp {
        match &self.schedule {
            Some((schedule, opens_from)) => schedule.opening(*opens_from, due_at).opens_at,
            None => due_at,
        }
    }
}

/// Most call-backs that a contact is given; a contact that asks again after the fifth is not called back any more.
pub const MOST_CALL_BACKS: i64 = 5;

/// A callee's wish to be called at another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallBackWish {
    /// Requested time.
    pub time: SpokenTime,
    /// Time when it was said.
    pub said_at: Timestamp,
}

/// Effect of an outcome on further attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearing {
    /// The call did not get through: it is retried, then followed up.
    NotReached,
    /// The call failed otherwise, or a machine took it: it is followed up.
    Missed,
    /// No call follows.
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
            unknown if unknown.starts_with(UNKNOWN_OUTCOME) => Self::Settled,
            carrier if carrier.starts_with("carrier-error") => Self::NotReached,
            _ => Self::Missed,
        }
    }
}

/// Returns whether anything can follow. If not, the rules need not be read.
pub fn may_be_followed(outcome: &Outcome) -> bool {
    Bearing::of(outcome) != Bearing::Settled
}

/// Returns whether an attempt with this outcome may be followed by a call-back: the agent spoke with a
/// person, not a machine.
pub fn may_be_called_back(tries: Tries, outcome: &Outcome) -> bool {
    let spoken_with = match outcome.status {
        ConversationStatus::Completed => !outcome.voicemail,
        ConversationStatus::Failed => true,
        ConversationStatus::Cancelled | ConversationStatus::InProgress | ConversationStatus::Scheduled => false,
    };
    spoken_with && tries.call_backs < MOST_CALL_BACKS
}

/// Returns the call that the callee asked for, at its time or at the next opening of the window. It has
/// priority over retries and follow-ups. None if the time is invalid or too far away.
pub fn call_back(rules: &RetryRules, wish: CallBackWish, now: Timestamp) -> Option<NextAttempt> {
    let asked_for = wish.time.instant(wish.said_at, rules.zone)?;
    Some(NextAttempt {
        kind: AttemptKind::CallBack,
        due_at: rules.in_window(asked_for.max(now)),
    })
}

/// Returns the attempt after the one at `tries` that ended now: retries first, then follow-ups.
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
    let due_at = rules.in_window(now.plus(wait));
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
