//! Runs one attempt from the permit to the outcome: history, language model, tools and timers.

mod actor;
mod command;
mod effects;
mod history;
mod introduction;
mod knowledge;
mod leg_search;
mod message;
mod operator;
mod outcome;
mod owner;
mod phrase_book;
mod routing;
mod state;

pub use actor::*;
pub use command::*;
pub use message::*;
pub use operator::OperatorLine;
pub use outcome::{EndReason, NoOutcome, Obstacle};
pub use owner::Owner;
pub use phrase_book::PhraseBook;
pub use state::{Event, OperateRefusal, OperatorLeft};

pub(crate) use effects::bound;
pub(crate) use leg_search::{LegSearch, Sighting, in_time};
pub(crate) use owner::{certain_owner, owner_of};
pub(crate) use state::CONFERENCE;

/// Access to the state machine for tests that feed it events in any order, without actors.
#[cfg(feature = "testkit")]
pub mod machine {
    pub use super::{
        outcome::Ending,
        state::{Effect, Event, PermitAnswer, Rules, State},
    };
}
