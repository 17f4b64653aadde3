//! The transaction or connection in which an operation runs.

use std::sync::atomic::AtomicBool;

use domain::time::Timestamp;
use sqlx::AnyConnection;

use super::dialect::Dialect;

/// Context of one operation.
pub(crate) struct Work<'c> {
    pub(crate) conn: &'c mut AnyConnection,
    /// The present instant, read when the operation starts.
    pub(crate) now: Timestamp,
    pub(crate) dialect: &'static Dialect,
    /// Whether account events are among the changes.
    pub(crate) has_events: &'c AtomicBool,
}

impl Work<'_> {
    /// Returns the same transaction for a further step.
    pub(crate) fn again(&mut self) -> Work<'_> {
        Work {
            conn: &mut *self.conn,
            now: self.now,
            dialect: self.dialect,
            has_events: self.has_events,
        }
    }
}
