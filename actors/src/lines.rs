//! Supervises every call of the node, counts free lines, and keeps the map from call to carrier leg.

mod message;

pub use message::*;
