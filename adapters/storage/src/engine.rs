//! The connections, and how an operation runs: written in groups or as a transaction, or read.

pub mod dial_journal;
pub mod word_index;

pub mod dialect;
pub mod holders;
pub mod liveness;
pub mod locks;
pub mod open;
pub mod page_limits;
pub mod rows;
pub mod server_history;
pub mod transactions;
pub mod url;
mod work;
pub mod write_health;
pub mod writer;

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock, atomic::AtomicBool},
    time::Duration,
};

use domain::{
    id::{AccountId, NodeId},
    node_times::Times,
    ports::store::{EventSignals, LiveCalls, StoreError, StoreResult},
    time::Clock,
};
use futures_util::future::BoxFuture;
use sqlx::AnyPool;
use tokio::sync::watch;

pub(crate) use work::Work;

use crate::engine::{
    dial_journal::DialJournal,
    dialect::{Dialect, POSTGRES, SQLITE},
    liveness::Liveness,
    open::{FileSharing, OpenError, Opened},
    page_limits::PageLimits,
    rows::unavailable,
    server_history::ServerHistory,
    transactions::Transactions,
    write_health::{Turn, WriteHealth},
    writer::Writer,
};

/// Time after which a silent server counts as unavailable. The server aborts a statement earlier by itself.
const READ_WITHIN: Duration = Duration::from_secs(15);

/// A store on a database. It need not be cloned: share it in an `Arc`.
///
/// When it is dropped, the writer finishes the operations it has accepted and then releases the database file.
#[derive(Debug)]
pub struct SqlStore {
    writers: Writers,
    /// None for a database in memory, which only its one connection can see.
    readers: Option<AnyPool>,
    pub(crate) clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
    /// The node that was last registered with this store, and its address. Imports started here belong to it.
    me: RwLock<Option<(NodeId, Option<String>)>>,
    pub(crate) times: Times,
    /// Whether the server's clock decides which nodes are alive.
    servers_clock: bool,
    /// Set once if this process dials.
    pub(crate) dials: OnceLock<Arc<DialJournal>>,
    /// Set once if this process has calls.
    pub(crate) live: OnceLock<Arc<dyn LiveCalls>>,
    /// None for a SQLite file, which has no failover.
    pub(crate) history: Option<Arc<ServerHistory>>,
    write_health: WriteHealth,
    pub(crate) page_limits: PageLimits,
    pub(crate) event_signals: Arc<EventSignals>,
}

/// Way of writing to the database.
#[derive(Debug)]
enum Writers {
    /// One operation after the other, in groups.
    One(Writer),
    /// Concurrent transactions.
    Many(Transactions),
}

/// Returns the operation that also tells when it has its turn.
fn in_turn<T, F>(
    turn: Turn,
    operation: F,
) -> impl for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static
where
    F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
{
    move |work| {
        turn.came();
        operation(work)
    }
}

impl SqlStore {
    /// Opens or creates the database, applies the migrations and starts the writer.
    ///
    /// `url` is `sqlite://PATH`, `sqlite::memory:` or `postgres://USER:PASSWORD@HOST/DATABASE`. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if another process holds the SQLite file or the server cannot be reached. No error
    /// contains the password.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(url, clock, FileSharing::Exclusive).await
    }

    /// Opens the database like [`SqlStore::open`], but also while a service holds it. It is for accounts and
    /// their keys, which no process keeps in memory, and must never be used for a node.
    pub async fn open_beside(url: &str, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(url, clock, FileSharing::Shared).await
    }

    /// Opens the database like [`SqlStore::open_beside`], but does not create a missing file.
    pub async fn open_existing(url: &str, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(url, clock, FileSharing::Existing).await
    }

    async fn start(url: &str, clock: Arc<dyn Clock>, sharing: FileSharing) -> Result<Self, OpenError> {
        let event_signals = Arc::<EventSignals>::default();
        let (writers, readers, dialect, history) = match open::open(url, sharing).await? {
            Opened::Sqlite(opened) => {
                let (clock, signals) = (Arc::clone(&clock), Arc::clone(&event_signals));
                let writer = Writer::start(opened.writer, opened.again, opened.lock, clock, signals);
                (Writers::One(writer), opened.readers, &SQLITE, None)
            }
            Opened::Postgres(pools) => {
                let signals = Arc::clone(&event_signals);
                let transactions = Transactions::new(pools.writers, Arc::clone(&clock), &POSTGRES, signals);
                let history = Some(pools.history);
                (Writers::Many(transactions), Some(pools.readers), &POSTGRES, history)
            }
        };
        Ok(Self {
            writers,
            readers,
            clock,
            dialect,
            me: RwLock::default(),
            times: Times::default(),
            servers_clock: false,
            dials: OnceLock::new(),
            live: OnceLock::new(),
            history,
            write_health: WriteHealth::default(),
            page_limits: PageLimits::default(),
            event_signals,
        })
    }

    /// Returns a flag that becomes true when a commit failed and its outcome is unknown. From then on every
    /// write is refused as `Unavailable`, and the process should exit.
    pub fn failed(&self) -> watch::Receiver<bool> {
        match &self.writers {
            Writers::One(writer) => writer.failed(),
            Writers::Many(transactions) => transactions.failed(),
        }
    }

    /// Configures the store for a service: these times, and the server's clock if there is a server, decide
    /// which nodes are alive.
    #[must_use]
    pub fn of_nodes(self, times: Times) -> Self {
        Self {
            times,
            servers_clock: true,
            ..self
        }
    }

    /// Sets how many conversations are examined for a page.
    #[must_use]
    pub fn examining(self, page_limits: PageLimits) -> Self {
        Self { page_limits, ..self }
    }

    pub(crate) fn liveness(&self) -> Liveness {
        Liveness::new(self.times, Arc::clone(&self.clock), self.servers_clock)
    }

    pub(crate) fn set_me(&self, node: NodeId, address: Option<String>) {
        *self.me.write().unwrap_or_else(PoisonError::into_inner) = Some((node, address));
    }

    pub(crate) fn me(&self) -> Option<NodeId> {
        self.registered().map(|(node, _)| node)
    }

    pub(crate) fn registered(&self) -> Option<(NodeId, Option<String>)> {
        self.me.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how long the oldest write has been waiting for its turn.
    pub fn lag(&self) -> Duration {
        self.write_health.lag()
    }

    /// Returns whether a write failed for lack of disk space in the last seconds.
    pub fn is_full(&self) -> bool {
        self.write_health.is_full()
    }

    /// Waits until every accepted write is on disk and the database is released. Later calls return `Unavailable`.
    pub async fn close(&self) {
        match &self.writers {
            Writers::One(writer) => writer.close().await,
            Writers::Many(transactions) => transactions.close().await,
        }
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
    }

    /// Runs one operation and returns once it is on disk. If the operation lost against another writer, it
    /// runs again from its beginning.
    pub(crate) async fn write<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
    {
        let in_flight = self.write_health.begin();
        let operation = in_turn(in_flight.turn(), operation);
        let result = match &self.writers {
            Writers::One(writer) => writer.run(operation).await,
            Writers::Many(transactions) => transactions.run(operation).await,
        };
        in_flight.ended(&result);
        result
    }

    /// Runs an operation that changes an account's resources; see [`locks::before_change`].
    pub(crate) async fn change<T, F>(&self, account: AccountId, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
    {
        self.write(move |mut work| {
            Box::pin(async move {
                locks::before_change(&mut work, account).await?;
                operation(work).await
            })
        })
        .await
    }

    /// Runs an operation that may rely on rows a server has lost, such as a claim. It is refused until the
    /// journal has been compared. The check is inside the transaction, because its connection may be the
    /// first one to a server that has just taken over.
    pub(crate) async fn write_compared<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
    {
        let history = self.history.clone();
        self.write(move |work| {
            Box::pin(async move {
                history.map_or(Ok(()), |history| history.check())?;
                operation(work).await
            })
        })
        .await
    }

    /// Runs one operation that changes nothing. It sees every write that was completed before.
    pub(crate) async fn read<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
    {
        let Some(readers) = &self.readers else {
            return self.write(operation).await;
        };
        if *self.failed().borrow() {
            return Err(StoreError::Unavailable("the last commit failed".to_owned()));
        }
        let mut conn = readers.acquire().await.map_err(unavailable)?;
        let work = Work {
            conn: &mut conn,
            now: self.clock.now(),
            dialect: self.dialect,
            has_events: &AtomicBool::default(),
        };
        if !self.dialect.concurrent {
            return operation(work).await;
        }
        let answer = tokio::time::timeout(READ_WITHIN, operation(work)).await;
        if !matches!(&answer, Ok(Ok(_) | Err(StoreError::NotFound))) {
            // The connection may still have unread data in its pipe.
            conn.close_on_drop();
        }
        answer.unwrap_or_else(|_| Err(StoreError::Unavailable(format!("no answer within {READ_WITHIN:?}"))))
    }
}
