//! Supervises one Campaign per campaign that runs or is being commanded.

mod actor;
mod message;

pub use actor::*;
pub use message::*;
