//! One running campaign: its window, pacing, claims and completion.

mod actor;
mod change;
mod dialing;
mod message;
mod pacing;
mod plan;
mod state;

pub use actor::*;
pub use change::*;
pub use message::*;
pub use pacing::*;
pub use plan::*;
pub use state::*;
