//! Covers an attempt from its claim to its outcome: the plan its call starts with, and the attempt that follows it.

mod call_plan;
mod finish;
mod plan;

pub use call_plan::*;
pub use finish::*;
pub use plan::*;
