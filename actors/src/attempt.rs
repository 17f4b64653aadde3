//! An attempt from its claim to its outcome: what its call needs to know, and what follows when it ends.

mod call_plan;
mod finish;
mod plan;

pub use call_plan::*;
pub use finish::*;
pub use plan::*;
