//! Facts of a process's live calls, for a store that has lost them.

use std::fmt;

use super::attempts::Claim;
use crate::{ports::carrier::CarrierCallId, time::Timestamp};

/// Facts that a live call knows about itself, for a store that has lost them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCall {
    /// Claim under which it is held.
    pub claim: Claim,
    /// The carrier's id of its leg, once it is known.
    pub leg: Option<CarrierCallId>,
    /// Time of the answer, if it was answered.
    pub answered_at: Option<Timestamp>,
}

/// The live calls of this process.
pub trait LiveCalls: fmt::Debug + Send + Sync {
    /// Returns the facts of each live call.
    fn live(&self) -> Vec<LiveCall>;
}
