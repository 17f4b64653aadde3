//! One running campaign: its window, pacing, claims and completion.

mod actor;
mod away;
mod change;
mod company;
mod decide;
mod dialing;
mod message;
mod outcome;
mod pacing;
mod plan;
mod retry;
mod starving;
mod state;
mod unwell;
mod update;

pub use actor::*;
pub use change::*;
pub use decide::*;
pub use message::*;
pub use outcome::*;
pub use pacing::*;
pub use plan::*;
pub use retry::*;
pub use state::*;
