//! The mind of one attempt, from the permit to the outcome: history, language model, tools and timers.

mod actor;
mod history;
mod introduction;
mod message;
mod outcome;
mod performer;
mod phrases;
mod pieces;
mod state;
mod tasks;
mod timers;
mod writer;

pub use actor::*;
pub use message::*;
pub use outcome::{EndReason, Obstacle, USAGE, usage};
