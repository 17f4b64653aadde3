//! Supervises one Campaign actor per campaign that runs or receives commands.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
