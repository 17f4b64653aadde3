//! Supervises one Campaign per campaign that runs or is being commanded.

mod message;

pub use message::*;
