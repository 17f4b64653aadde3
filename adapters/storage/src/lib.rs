//! The database: one set of SQL over sqlx's `Any` driver that implements the store's port.
//!
//! On SQLite one task writes on one connection and commits in groups. On PostgreSQL operations are concurrent
//! transactions. Readers have a small pool of their own.

mod accounts;
mod agents;
mod attempts;
mod callee;
mod campaigns;
mod contacts;
mod conversations;
mod directory;
mod engine;
mod erasure;
mod events;
mod knowledge;
mod measuring;
mod nodes;

pub use attempts::SAFEGUARDS;
pub use conversations::call_counting;
pub use conversations::call_notes;
pub use conversations::recordings;
pub use conversations::retention;
pub use engine::SqlStore;
pub use engine::dial_journal;
pub use engine::open::OpenError;
pub use engine::page_limits::PageLimits;
pub use engine::url::{DatabaseUrl, DatabaseUrlError, without_password};
