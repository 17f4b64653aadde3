//! What actors need to live beside actors that crash: waits that grow, tasks that end with their owner, addresses that
//! outlive a restart, and a way to report to an actor above without knowing it.

mod backoff;
mod reports;
mod sibling;
mod task_guard;

pub use backoff::*;
pub use reports::*;
pub use sibling::*;
pub use task_guard::*;
