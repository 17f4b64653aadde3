//! Writing on a server with several writers. Each operation is a transaction on a pooled connection. It is
//! repeated if it lost against another one, and returns once its commit is certain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::{
    ports::store::{EventSignals, StoreError, StoreResult},
    time::Clock,
};
use futures_util::future::BoxFuture;
use rand::Rng;
use sqlx::{AnyConnection, AnyPool, Connection};
use tokio::{
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};

use super::{
    dialect::Dialect,
    rows::{Columns, Fetch, composed, is_passing, unavailable},
    server_history::{PRESENT, present_of},
    work::Work,
};

/// Most operations in progress; further callers wait to be admitted.
const QUEUE: u32 = 1_024;
/// Time a caller waits to be admitted.
const ADMISSION: Duration = Duration::from_secs(5);
/// Most tries of an operation that lost against another one, or whose connection broke before its commit.
const TRIES: u32 = 5;
/// Time limit of the server for a whole operation, and again for its commit. The server aborts a single
/// statement earlier by itself; this limit applies if it does not answer at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);
/// Time during which the outcome of a commit with a lost answer is asked for.
const STATUS_WITHIN: Duration = Duration::from_secs(600);

/// Runs operations. Clones share the pool.
#[derive(Debug, Clone)]
pub(crate) struct Transactions {
    pool: AnyPool,
    admission: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
    failed: watch::Sender<bool>,
    event_signals: Arc<EventSignals>,
}

/// A commit whose answer was lost.
struct Lost {
    transaction: Option<Written>,
    error: StoreError,
}

/// A transaction that wrote something.
struct Written {
    id: String,
    /// Commit history that the id belongs to. In another history the id is unused or belongs to another transaction.
    history: String,
}

/// Outcome of a transaction.
enum CommitStatus {
    /// The server's word for it; none for a transaction that is too old.
    Known(Option<String>),
    /// The server has another history, with or without the transaction.
    AnotherHistory,
}

impl Transactions {
    pub(crate) fn new(
        pool: AnyPool,
        clock: Arc<dyn Clock>,
        dialect: &'static Dialect,
        event_signals: Arc<EventSignals>,
    ) -> Self {
        Self {
            pool,
            admission: Arc::new(Semaphore::new(QUEUE as usize)),
            clock,
            dialect,
            failed: watch::Sender::new(false),
            event_signals,
        }
    }

    /// Returns a flag that becomes true when the outcome of a commit cannot be found out.
    pub(crate) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.subscribe()
    }

    /// Waits until all accepted operations have ended. Later operations are refused.
    pub(crate) async fn close(&self) {
        // An error means that it is closed already.
        if let Ok(all) = self.admission.acquire_many(QUEUE).await {
            self.admission.close();
            drop(all);
        }
        self.pool.close().await;
    }

    /// Runs an operation to its end even if the caller goes away, because half of what a call does is worse
    /// than all of it.
    pub(crate) async fn run<T, F>(&self, operation: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone + Send + 'static,
    {
        let admitted = timeout(ADMISSION, Arc::clone(&self.admission).acquire_owned()).await;
        let admitted = admitted
            .map_err(|_| StoreError::Unavailable("too many writes wait for the database".to_owned()))?
            .map_err(|_| StoreError::Unavailable("the database is closed".to_owned()))?;
        if *self.failed.borrow() {
            return Err(StoreError::Unavailable("the last commit failed".to_owned()));
        }
        let this = self.clone();
        let running = tokio::spawn(async move {
            let outcome = this.insist(operation).await;
            drop(admitted);
            outcome
        });
        running
            .await
            .unwrap_or_else(|panic| Err(StoreError::Unavailable(panic.to_string())))
    }

    async fn insist<T, F>(&self, operation: F) -> StoreResult<T>
    where
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Clone,
    {
        let mut tries = 1;
        loop {
            match self.once(operation.clone()).await {
                Err(error) if is_passing(&error) && tries < TRIES => {
                    tracing::debug!(%error, tries, "transaction repeated");
                    let most = 10_u64 << (2 * tries);
                    let pause = rand::rng().random_range(most / 2..=most);
                    sleep(Duration::from_millis(pause)).await;
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn once<T, F>(&self, operation: F) -> StoreResult<T>
    where
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>>,
    {
        let mut conn = self.pool.acquire().await.map_err(unavailable)?;
        let outcome = self.transact(&mut conn, operation).await;
        let (result, lost) = match outcome {
            Ok((result, None)) => return Ok(result),
            Ok((result, Some(lost))) => (result, lost),
            Err(error) => {
                if matches!(error, StoreError::Unavailable(_)) {
                    // The connection may still have unread data in its pipe.
                    conn.close_on_drop();
                }
                return Err(error);
            }
        };
        conn.close_on_drop();
        drop(conn);
        self.settle(lost).await.map(|()| result)
    }

    /// Runs the operation in a transaction. Returns its result, and the lost commit if the commit was not answered.
    async fn transact<T, F>(&self, conn: &mut AnyConnection, operation: F) -> StoreResult<(T, Option<Lost>)>
    where
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>>,
    {
        let has_events = AtomicBool::default();
        let began = async {
            let mut transaction = conn.begin_with(self.dialect.begin).await.map_err(unavailable)?;
            let work = Work {
                conn: &mut transaction,
                now: self.clock.now(),
                dialect: self.dialect,
                has_events: &has_events,
            };
            match operation(work).await {
                Ok(result) => {
                    let id = transaction_id(&mut transaction).await?;
                    Ok((transaction, result, id))
                }
                Err(error) => {
                    // If this fails, the connection has ended, and the transaction with it.
                    let _ = transaction.rollback().await;
                    Err(error)
                }
            }
        };
        let (transaction, result, id) = timeout(ANSWERS_WITHIN, began).await.unwrap_or_else(|_| Err(late()))?;
        let lost = match timeout(ANSWERS_WITHIN, transaction.commit()).await {
            Ok(Ok(())) => {
                if has_events.load(Ordering::Relaxed) {
                    self.event_signals.wrote();
                }
                return Ok((result, None));
            }
            Ok(Err(error)) => unavailable(error),
            Err(_) => late(),
        };
        Ok((
            result,
            Some(Lost {
                transaction: id,
                error: lost,
            }),
        ))
    }

    /// Finds out whether a transaction with a lost answer was committed; returns `Ok` if it was.
    async fn settle(&self, lost: Lost) -> StoreResult<()> {
        // A transaction that wrote nothing can simply be repeated.
        let Some(written) = lost.transaction else {
            return Err(lost.error);
        };
        tracing::warn!(error = %lost.error, "commit answer lost, asking for its outcome");
        let limit = Instant::now() + STATUS_WITHIN;
        while Instant::now() < limit {
            match self.commit_status(&written).await {
                Ok(CommitStatus::Known(Some(status))) if status == "committed" => return Ok(()),
                Ok(CommitStatus::Known(Some(status))) if status == "aborted" => return Err(lost.error),
                Ok(CommitStatus::Known(Some(status))) if status == "in progress" => {}
                // Do not repeat it here: it may have been committed.
                Ok(CommitStatus::AnotherHistory) => {
                    tracing::error!("commit outcome unknown: the server has another history");
                    let why = "another server took over and may or may not have this write";
                    return Err(StoreError::Unavailable(why.to_owned()));
                }
                Err(StoreError::Unavailable(_)) => {}
                // The transaction is too old for the server to know it.
                Ok(CommitStatus::Known(status)) => {
                    tracing::error!(
                        ?status,
                        "commit outcome unknown: the server does not know the transaction"
                    );
                    break;
                }
                Err(error) => {
                    tracing::error!(%error, "commit outcome unknown: the server does not answer");
                    break;
                }
            }
            sleep(Duration::from_millis(500)).await;
        }
        self.failed.send_replace(true);
        Err(StoreError::Unavailable(
            "the outcome of a commit is not known".to_owned(),
        ))
    }

    async fn commit_status(&self, written: &Written) -> StoreResult<CommitStatus> {
        let mut conn = self.pool.acquire().await.map_err(unavailable)?;
        let asked = async {
            if present_of(&mut conn).await.map_err(unavailable)? != written.history {
                return Ok(CommitStatus::AnotherHistory);
            }
            let query = sqlx::query("SELECT pg_xact_status(CAST(CAST($1 AS TEXT) AS xid8)) AS status");
            let row = query.bind(written.id.clone()).one(&mut conn).await?;
            Ok(CommitStatus::Known(row.maybe_text("status")?))
        };
        timeout(ANSWERS_WITHIN, asked).await.unwrap_or_else(|_| Err(late()))
    }
}

/// Returns the transaction's own id and its history; none if it wrote nothing.
async fn transaction_id(conn: &mut AnyConnection) -> StoreResult<Option<Written>> {
    let query = composed(format!(
        "SELECT CAST(pg_current_xact_id_if_assigned() AS TEXT) AS id, {PRESENT} AS history"
    ));
    let row = query.one(conn).await?;
    let history = row.text("history")?;
    Ok(row.maybe_text("id")?.map(|id| Written { id, history }))
}

fn late() -> StoreError {
    StoreError::Unavailable(format!("no answer from the database within {ANSWERS_WITHIN:?}"))
}
