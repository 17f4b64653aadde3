//! What a process knows of its calls, for a store that has forgotten them.

use std::fmt;

use super::Claim;
use crate::{ports::carrier::CarrierCallId, time::Timestamp};

/// What a live call knows of itself, for a store that has forgotten it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCall {
    /// What it is held by.
    pub claim: Claim,
    /// The carrier's id of its leg, once it is known.
    pub leg: Option<CarrierCallId>,
    /// When it was answered, if it was.
    pub answered_at: Option<Timestamp>,
}

/// The calls that live in this process.
pub trait LiveCalls: fmt::Debug + Send + Sync {
    /// What each of them knows of itself.
    fn live(&self) -> Vec<LiveCall>;
}
