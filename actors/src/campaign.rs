//! One running campaign: its window, pacing, claims and completion.

mod message;
mod state;

pub use message::*;
pub use state::*;
