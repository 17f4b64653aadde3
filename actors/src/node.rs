//! The root of the tree: starts Campaigns, SingleCalls, Lines and Journal, and the resources they need.

mod actor;
mod boot;
mod handle;
mod incarnation;
mod life;
mod recovery;

pub use actor::{NodeMessage, Part};
pub use handle::*;
pub use incarnation::*;
