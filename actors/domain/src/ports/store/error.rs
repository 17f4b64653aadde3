//! Errors of the store.

/// Reason why a store operation failed, sorted by what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No such row, or it belongs to another account.
    #[error("not found")]
    NotFound,
    /// A value that must be unique exists already. Contains its name (`email`, `phoneNumber` …).
    #[error("{0} exists already")]
    Exists(&'static str),
    /// The row changed since it was read. Read it again.
    #[error("the row changed meanwhile; read it again")]
    Stale,
    /// Owner or epoch do not match any more. Forget the attempt.
    #[error("the claim no longer holds")]
    Fenced,
    /// The database is unavailable or overloaded. The operation may be tried again.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// The database will never accept a value, because it contains a character that cannot be stored, or is
    /// too long for an index.
    #[error("the database rejects a value: {0}")]
    Refused(String),
    /// Other live nodes of the database use different timings. Contains the differences and the way out.
    #[error("{0}")]
    OtherTimes(String),
    /// A stored value cannot be read back, which is a bug.
    #[error("stored value is damaged: {0}")]
    Damaged(String),
}

/// Prefix of the error text for a full disk.
const DISK_FULL: &str = "the disk is full";

impl StoreError {
    /// Creates the error for a full disk. Nothing was stored; the operation may be tried again once there is space.
    pub fn disk_full(why: &str) -> Self {
        Self::Unavailable(format!("{DISK_FULL}: {why}"))
    }

    /// Returns whether the operation failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.starts_with(DISK_FULL))
    }
}

/// Result of every method.
pub type StoreResult<T> = Result<T, StoreError>;
