//! The database: one set of SQL over sqlx's `Any` driver behind the store's port.
//!
//! On SQLite one task writes on one connection and commits in groups; readers have a small pool of their own.

mod accounts;
mod agent_holds;
mod agents;
mod attempts;
mod campaign_contacts;
mod campaign_edits;
mod campaigns;
mod contact_states;
mod contacts;
mod conversations;
mod dialect;
mod directory;
mod do_not_call;
mod facts;
mod idempotency;
mod jobs;
mod knowledge;
mod nodes;
mod open;
mod records;
mod rows;
mod writer;

use std::sync::Arc;

use actors::{
    ports::store::{StoreError, StoreResult},
    time::{Clock, Timestamp},
};
use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, AnyPool};
use tokio::sync::watch;

use dialect::Dialect;
use open::Company;
use rows::unavailable;
use writer::Writer;

/// A store on a database. Cloning is not needed: share it in an `Arc`.
///
/// Dropping it lets the writer finish what it accepted and then frees the database file.
#[derive(Debug)]
pub struct SqlStore {
    writer: Writer,
    /// None for a database in memory, which only its one connection can see.
    readers: Option<AnyPool>,
    clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
}

/// What one operation works with.
struct Work<'c> {
    conn: &'c mut AnyConnection,
    /// The present instant, read when the operation's turn comes.
    now: Timestamp,
    dialect: &'static Dialect,
}

impl SqlStore {
    /// Opens or makes the database, applies the migrations and starts the writer.
    ///
    /// `url` is `sqlite://PATH` or `sqlite::memory:`. Needs a tokio runtime. Fails when another process holds the
    /// database file.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> StoreResult<Self> {
        Self::start(url, clock, Company::Alone).await
    }

    /// Like [`SqlStore::open`], but also beside a service that holds the database: for accounts and their keys, which
    /// no process keeps in memory. Never for a node.
    pub async fn open_beside(url: &str, clock: Arc<dyn Clock>) -> StoreResult<Self> {
        Self::start(url, clock, Company::Beside).await
    }

    async fn start(url: &str, clock: Arc<dyn Clock>, company: Company) -> StoreResult<Self> {
        let opened = open::open(url, company).await?;
        Ok(Self {
            writer: Writer::start(opened.writer, opened.lock, Arc::clone(&clock), opened.dialect),
            readers: opened.readers,
            clock,
            dialect: opened.dialect,
        })
    }

    /// Becomes true when a commit failed. Nobody knows then what is on disk: every later write is refused as
    /// `Unavailable`, and the process should exit.
    pub fn failed(&self) -> watch::Receiver<bool> {
        self.writer.failed()
    }

    /// Waits until every accepted write is on disk and the database file is free; later calls are `Unavailable`.
    pub async fn close(&self) {
        self.writer.close().await;
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
    }

    /// Runs one operation in the next group commit and answers when that is on disk.
    async fn write<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Send + 'static,
    {
        self.writer.run(operation).await
    }

    /// Runs one operation that changes nothing; it sees every write that was answered before.
    async fn read<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Send + 'static,
    {
        let Some(readers) = &self.readers else {
            return self.writer.run(operation).await;
        };
        if *self.writer.failed().borrow() {
            return Err(StoreError::Unavailable("the last commit failed".to_owned()));
        }
        let mut conn = readers.acquire().await.map_err(unavailable)?;
        let work = Work {
            conn: &mut conn,
            now: self.clock.now(),
            dialect: self.dialect,
        };
        operation(work).await
    }
}
