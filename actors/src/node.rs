//! The root of the tree: starts Switchboard, Campaigns, Lines and Journal, and what they need.

mod backoff;
mod guard;
mod sibling;
mod snapshot;

pub use backoff::*;
pub use guard::*;
pub use sibling::*;
pub use snapshot::*;
