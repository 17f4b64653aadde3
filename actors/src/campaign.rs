//! One running campaign: its window, pacing, claims and completion.

mod actor;
mod away;
mod change;
mod command;
mod company;
mod decide;
mod dialing;
mod message;
mod pacing;
mod starving;
mod state;
mod unwell;
mod update;

pub use actor::*;
pub use change::*;
pub use command::*;
pub use decide::*;
pub use message::*;
pub use pacing::*;
pub use state::*;
