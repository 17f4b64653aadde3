//! The door: takes commands from REST to the campaign supervisor, and callbacks and media sockets to their call.
//! Routing only; nothing lives below it.

mod message;

pub use message::*;
