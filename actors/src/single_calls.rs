//! Calls that belong to no campaign. They are queued on disk when requested, and dialed by any node that has a line.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
