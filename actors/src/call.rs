//! The mind of one attempt, from the permit to the outcome: history, language model, tools and timers.

mod actor;
mod history;
mod introduction;
mod knowledge;
mod leg_search;
mod message;
mod outcome;
mod performer;
mod state;
mod tasks;
mod timers;
mod whose;
mod writer;

pub use actor::*;
pub use message::*;
pub use outcome::{EndReason, NoOutcome, Obstacle};
pub use state::Event;
pub use whose::Whose;

pub(crate) use leg_search::{LegSearch, Sighting, in_time};
pub(crate) use performer::bound;
pub(crate) use state::CONFERENCE;
pub(crate) use whose::{whose, whose_for_certain};

/// The state machine itself, for tests that give it facts in any order without actors.
#[cfg(feature = "testkit")]
pub mod machine {
    pub use super::{
        outcome::Ending,
        state::{Effect, Event, PermitAnswer, Rules, State},
    };
}
