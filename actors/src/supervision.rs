//! Tools for actors that run beside actors that may crash: growing delays, tasks that end with their owner,
//! addresses that outlive a restart, log lines of retries, and reports to a parent of unknown type.

mod backoff;
mod reports;
mod retried;
mod sibling;
mod task_guard;

pub use backoff::*;
pub use reports::*;
pub use retried::*;
pub use sibling::*;
pub use task_guard::*;
