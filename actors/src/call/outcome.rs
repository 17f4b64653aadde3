//! The ways a call can end, and the outcome written for each.

use std::{collections::BTreeMap, time::Duration};

use domain::{
    phone_number::with_numbers_masked,
    ports::{
        carrier::{DialError, EndCause},
        store::{CallTimes, ConversationStatus, Outcome},
    },
};

/// Reason why a call is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The call was answered and ended normally, by either side.
    Completed,
    /// We ended the call before it was answered.
    Cancelled,
    /// The call failed. Holds the `errorMessage` shown by the API.
    Failed(String),
    /// The carrier refused it for a reason that the service does not know.
    Refused {
        /// Name of the reason, the same for each refusal of this kind.
        kind: String,
        /// The carrier's text.
        words: String,
    },
}

impl EndReason {
    /// Creates the reason for a call that nobody answered within the ring timeout.
    pub fn no_answer() -> Self {
        Self::Failed("no-answer".into())
    }

    /// Creates the reason for a call whose media socket never came, or died and ended the call.
    pub fn media_lost() -> Self {
        Self::Failed("media-lost".into())
    }

    /// Creates the reason for a failure of the carrier with this text.
    pub fn carrier(text: &str) -> Self {
        Self::Failed(format!("carrier-error: {text}"))
    }

    /// Creates the reason for a failure of a part of the agent with this text.
    pub fn agent(text: &str) -> Self {
        Self::Failed(format!("agent-error: {text}"))
    }

    /// Converts the leg's end into a reason, for a call that ended before its media came.
    pub fn from_cause(cause: &EndCause) -> Self {
        match cause {
            EndCause::Completed => Self::media_lost(),
            EndCause::Busy => Self::Failed("busy".into()),
            EndCause::NoAnswer => Self::no_answer(),
            EndCause::Rejected => Self::Failed("rejected".into()),
            EndCause::InvalidNumber => Self::Failed("invalid-number".into()),
            EndCause::Canceled => Self::Cancelled,
            EndCause::Failed(words) => Self::Refused {
                kind: with_numbers_masked(words),
                words: words.clone(),
            },
        }
    }

    /// Converts the reason into the outcome that is stored.
    pub fn outcome(self, voicemail: bool, collected: BTreeMap<String, String>) -> Outcome {
        let (status, error, refusal) = match self {
            Self::Completed => (ConversationStatus::Completed, None, None),
            Self::Cancelled => (ConversationStatus::Cancelled, None, None),
            Self::Failed(error) => (ConversationStatus::Failed, Some(error), None),
            Self::Refused { kind, words } => (
                ConversationStatus::Failed,
                Some(format!("carrier-error: {words}")),
                Some(kind),
            ),
        };
        Outcome {
            status,
            error,
            voicemail,
            transferred: false,
            collected,
            times: CallTimes::default(),
            facts_follow: false,
            refusal,
        }
    }
}

/// Obstacle that keeps the carrier from taking any call, not only this one: it is unavailable, asks for a pause or
/// refuses the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Text shown to users.
    pub reason: String,
    /// Pause that the carrier asked for, if any.
    pub pause: Option<Duration>,
}

impl Obstacle {
    /// Returns the carrier's obstacle behind a failed dial, or `None` if the failure concerns only the number
    /// or the call.
    pub fn of(error: &DialError) -> Option<Self> {
        let (reason, pause) = match error {
            DialError::Busy { retry_after } => ("the carrier takes no more calls for the moment".into(), *retry_after),
            DialError::Unreachable(_) => (error.to_string(), None),
            DialError::AccountRefused(text) => (with_numbers_masked(&account_refused(text)), None),
            DialError::InvalidNumber(_)
            | DialError::Rejected(_)
            | DialError::Unclassified { .. }
            | DialError::HeldBack(_)
            | DialError::Unknown(_) => return None,
        };
        Some(Self { reason, pause })
    }
}

/// Returns the text for an account that the carrier refuses.
pub(super) fn account_refused(words: &str) -> String {
    format!("the carrier refuses the account: {words}")
}

/// Reason why a call is over without an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOutcome {
    /// The carrier refused it, or was not asked because it had failed too often. Nothing was sent.
    NotTaken,
    /// The store was unavailable and gave no permit. Nothing was sent.
    StoreUnavailable,
    /// The permit came too late, or this node no longer dials. Nothing was sent.
    TooLate,
    /// The reason concerns this attempt only: it waits for its turn or its hour, or another node owns it.
    ItsOwn,
}

/// Write that remains when a call is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The outcome, not yet written.
    Outcome(Outcome),
    /// The outcome, already written by the permit's transaction.
    Written(Outcome),
    /// It is certain that nothing was sent; the attempt is queued again after a delay.
    NotSent {
        /// The delay in milliseconds.
        delay_ms: i64,
        /// The carrier's reason, if it gave one.
        why: Option<String>,
    },
    /// Nothing. The refused permit has already updated the attempt, or the claim is lost.
    Nothing,
}

/// Returns the outcome for a number that may not be dialed: `do-not-call` or `restricted`.
pub fn forbidden(why: &str) -> Outcome {
    Outcome {
        error: Some(why.to_owned()),
        ..EndReason::Cancelled.outcome(false, BTreeMap::new())
    }
}

/// Returns the outcome of a call that a safeguard forbids for good, with its error.
pub fn not_allowed(error: String) -> Outcome {
    EndReason::Failed(error).outcome(false, BTreeMap::new())
}
