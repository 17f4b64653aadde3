//! The root of the tree: starts Switchboard, Campaigns, SingleCalls, Lines and Journal, and what they need.

mod actor;
mod backoff;
mod boot;
mod gate;
mod guard;
mod handle;
mod incarnation;
mod life;
mod reaper;
mod sibling;
mod snapshot;

pub use actor::{NodeMessage, Part, Siblings};
pub use backoff::*;
pub use boot::MEDIA_LOST;
pub use gate::*;
pub use guard::*;
pub use handle::*;
pub use incarnation::*;
pub use sibling::*;
pub use snapshot::*;
