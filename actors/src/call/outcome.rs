//! How calls end, and what is written about each ending.

use std::{collections::BTreeMap, time::Duration};

use domain::ports::{
    carrier::{DialError, EndCause},
    store::{CallTimes, ConversationStatus, Outcome},
};

/// Why a call is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// It was answered and ended in the ordinary way, by either side.
    Completed,
    /// We ended it before it was answered.
    Cancelled,
    /// It failed; the contract's `errorMessage`.
    Failed(String),
}

impl EndReason {
    /// Nobody answered within the ring timeout.
    pub fn no_answer() -> Self {
        Self::Failed("no-answer".into())
    }

    /// The media socket never came, or died and the call with it.
    pub fn media_lost() -> Self {
        Self::Failed("media-lost".into())
    }

    /// The carrier failed; its words.
    pub fn carrier(text: &str) -> Self {
        Self::Failed(format!("carrier-error: {text}"))
    }

    /// A part of the agent failed.
    pub fn agent(text: &str) -> Self {
        Self::Failed(format!("agent-error: {text}"))
    }

    /// What a leg's end means for a call whose media had not come before it was reported.
    pub fn from_cause(cause: &EndCause) -> Self {
        match cause {
            EndCause::Completed => Self::media_lost(),
            EndCause::Busy => Self::Failed("busy".into()),
            EndCause::NoAnswer => Self::no_answer(),
            EndCause::Rejected => Self::Failed("rejected".into()),
            EndCause::InvalidNumber => Self::Failed("invalid-number".into()),
            EndCause::Canceled => Self::Cancelled,
            EndCause::Failed(text) => Self::carrier(text),
        }
    }

    /// The row's form.
    pub fn outcome(self, voicemail: bool, collected: BTreeMap<String, String>) -> Outcome {
        let (status, error) = match self {
            Self::Completed => (ConversationStatus::Completed, None),
            Self::Cancelled => (ConversationStatus::Cancelled, None),
            Self::Failed(error) => (ConversationStatus::Failed, Some(error)),
        };
        Outcome {
            status,
            error,
            voicemail,
            transferred: false,
            collected,
            times: CallTimes::default(),
            facts_follow: false,
        }
    }
}

/// What keeps the carrier from taking any call, not only this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It will pass: the carrier is away, or asks for a pause.
    Passing {
        /// What people read.
        reason: String,
        /// The carrier's own wish for a pause, if it named one.
        pause: Option<Duration>,
    },
    /// It lasts until somebody acts: the carrier refuses the account.
    Lasting {
        /// What people read.
        reason: String,
    },
}

impl Obstacle {
    /// What people read.
    pub fn reason(&self) -> &str {
        match self {
            Self::Passing { reason, .. } | Self::Lasting { reason } => reason,
        }
    }

    /// What a failed dial says about the carrier; none when it says something about the number or the call only.
    pub fn of(error: &DialError) -> Option<Self> {
        match error {
            DialError::Busy { retry_after } => Some(Self::Passing {
                reason: "the carrier takes no more calls for the moment".into(),
                pause: *retry_after,
            }),
            DialError::Unreachable(_) => Some(Self::Passing {
                reason: error.to_string(),
                pause: None,
            }),
            DialError::AccountRefused(text) => Some(Self::Lasting {
                reason: format!("the carrier refuses the account: {text}"),
            }),
            DialError::InvalidNumber(_) | DialError::Rejected(_) | DialError::HeldBack(_) | DialError::Unknown(_) => {
                None
            }
        }
    }
}

/// Why a call is over without an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOutcome {
    /// The carrier did not take it, or was left alone since it failed too often: nothing was sent.
    NotTaken,
    /// The store gave no permit, as it is away: nothing was sent.
    StoreAway,
    /// Its permit came too late to be used, or this node dials nobody any more: nothing was sent.
    TooLate,
    /// This attempt alone is concerned: it waits for its turn or for its hour, or is no longer this node's.
    ItsOwn,
}

/// What is left to write when a call is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The outcome, still to be written.
    Outcome(Outcome),
    /// The outcome, written by the permit's own transaction.
    Written(Outcome),
    /// Certainly nothing was sent: queued again after this many milliseconds.
    NotSent {
        /// The delay.
        delay_ms: i64,
        /// Why, where the carrier said so.
        why: Option<String>,
    },
    /// Nothing: the permit was refused and has put the attempt where it belongs, or the claim is lost.
    Nothing,
}

/// The outcome of a number that may not be dialed: `do-not-call` or `restricted`.
pub fn forbidden(why: &str) -> Outcome {
    Outcome {
        error: Some(why.to_owned()),
        ..EndReason::Cancelled.outcome(false, BTreeMap::new())
    }
}

/// The outcome of a call that a safeguard never allows, with its error.
pub fn not_allowed(error: String) -> Outcome {
    EndReason::Failed(error).outcome(false, BTreeMap::new())
}
