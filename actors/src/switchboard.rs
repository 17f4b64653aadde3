//! The door: takes commands from REST to the campaign supervisor, single calls to their dialer, and callbacks and media sockets to their call.
//! Routing only; nothing lives below it.

mod actor;
mod message;
mod snapshot;

pub use actor::*;
pub use message::*;
pub use snapshot::*;
