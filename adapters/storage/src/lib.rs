//! The database: one set of SQL over sqlx's `Any` driver that implements the store's port.
//!
//! On SQLite one task writes on one connection and commits in groups. On PostgreSQL operations are concurrent
//! transactions. Readers have a small pool of their own.

mod accounts;
mod agents;
mod attempts;
mod campaigns;
mod contacts;
mod conversations;
mod engine;
mod erasure;
mod events;
mod knowledge;
mod nodes;

pub use attempts::SAFEGUARDS;
pub use conversations::call_counting;
pub use conversations::call_notes;
pub use conversations::conversation_pages::PageLimits;
pub use conversations::recordings;
pub use conversations::retention;
pub use engine::SqlStore;
pub use engine::open::OpenError;
pub use engine::url::{DatabaseUrl, DatabaseUrlError, without_password};
pub use nodes::dial_journal;
