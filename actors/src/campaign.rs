//! One running campaign: its window, pacing, claims and completion.

mod actor;
mod change;
mod dialing;
mod message;
mod pacing;
mod plan;
mod schedule;
mod state;
mod window;

pub use actor::*;
pub use change::*;
pub use message::*;
pub use pacing::*;
pub use plan::*;
pub use schedule::*;
pub use state::*;
pub use window::*;
