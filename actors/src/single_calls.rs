//! Calls that belong to no campaign: queued on disk when they are asked for, dialed by whichever node has a line.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
