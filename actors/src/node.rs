//! The root of the tree: starts Switchboard, Campaigns, SingleCalls, Lines and Journal, and what they need.

mod actor;
mod backoff;
mod boot;
mod guard;
mod handle;
mod reaper;
mod sibling;
mod snapshot;

pub use actor::{NodeMessage, Part, Siblings};
pub use backoff::*;
pub use guard::*;
pub use handle::*;
pub use sibling::*;
pub use snapshot::*;
