//! Writes facts in order and in batches, flushed within 200 ms and bounded in bytes, and feeds live progress.
//! Decisions never pass through it.

mod actor;
mod buffer;
mod handle;
mod message;

pub use actor::*;
pub use buffer::{FACTS_LOST, KEPT_BYTES};
pub use handle::*;
pub use message::*;
