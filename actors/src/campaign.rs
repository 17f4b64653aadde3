//! One running campaign: its window, pacing, claims and completion.

mod message;

pub use message::*;
