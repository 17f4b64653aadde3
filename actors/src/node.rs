//! The root of the tree: starts Switchboard, Campaigns, Lines and Journal, and what they need.

mod snapshot;

pub use snapshot::*;
