//! The mind of one attempt, from the permit to the outcome: history, language model, tools and timers.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
