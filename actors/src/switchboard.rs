//! The door: takes commands from REST to the campaign supervisor, and callbacks and media sockets to their call.
//! Routing only; nothing lives below it.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
