//! Supervises every call of the node, counts free lines, and keeps the map from call to carrier leg.

mod actor;
mod announced;
mod calls;
mod doubts;
mod held_claims;
mod inbound;
mod late_leg;
mod message;
mod registry;
mod settle;
mod state;
mod taken_over;

pub use actor::*;
pub use announced::MOST_WITHOUT_SOCKET;
pub use held_claims::*;
pub use message::*;
pub use registry::*;
pub use settle::*;
pub use state::LinePool;
pub use taken_over::{Asking, HeldReturn, NotGoingOn, ReturnReply};
