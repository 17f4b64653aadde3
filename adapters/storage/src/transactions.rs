//! Writing on a server that takes several writers: each operation is a transaction on a connection of a pool, made
//! again when it lost against another one, and answered when its commit is certain.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    ports::store::{StoreError, StoreResult},
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
    Work,
    dialect::Dialect,
    rows::{Columns, composed, is_passing, unavailable},
    server_history::{PRESENT, present_of},
};

/// Operations that may wait; the next caller waits to be let in.
const QUEUE: u32 = 1_024;
/// For how long a caller waits to be let in.
const ADMISSION: Duration = Duration::from_secs(5);
/// How often an operation is tried that lost against another one, or whose connection broke before its commit.
const TRIES: u32 = 5;
/// The server has so long for all of an operation, and again for its commit. It gives up each statement earlier by
/// itself: this holds when nothing comes from it at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);
/// For how long the fate of a commit is asked for whose answer was lost.
const STATUS_WITHIN: Duration = Duration::from_secs(600);

/// Runs operations. Clones share the pool.
#[derive(Debug, Clone)]
pub(super) struct Transactions {
    pool: AnyPool,
    admission: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
    failed: watch::Sender<bool>,
}

/// A commit whose answer did not come.
struct Lost {
    transaction: Option<Written>,
    error: StoreError,
}

/// A transaction that wrote something.
struct Written {
    id: String,
    /// The history of commits that the id belongs to: in another one it is another transaction's, or nobody's yet.
    history: String,
}

/// What became of a transaction.
enum CommitStatus {
    /// The server's word for it; none for one that is too old.
    Known(Option<String>),
    /// The server has another history, which may have the transaction or not.
    AnotherHistory,
}

impl Transactions {
    pub(super) fn new(pool: AnyPool, clock: Arc<dyn Clock>, dialect: &'static Dialect) -> Self {
        Self {
            pool,
            admission: Arc::new(Semaphore::new(QUEUE as usize)),
            clock,
            dialect,
            failed: watch::Sender::new(false),
        }
    }

    /// Becomes true when nobody can say what became of a commit.
    pub(super) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.subscribe()
    }

    /// Waits until all that was accepted has ended. Later operations are refused.
    pub(super) async fn close(&self) {
        // An error means that it is closed already.
        if let Ok(all) = self.admission.acquire_many(QUEUE).await {
            self.admission.close();
            drop(all);
        }
        self.pool.close().await;
    }

    /// Runs an operation to its end, also when the caller goes away: half of what a call does is worse than all.
    pub(super) async fn run<T, F>(&self, operation: F) -> StoreResult<T>
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
                    tracing::debug!(%error, tries, "a transaction is made again");
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
                    // Nobody knows what such a connection still has in its pipe.
                    conn.close_on_drop();
                }
                return Err(error);
            }
        };
        conn.close_on_drop();
        drop(conn);
        self.settle(lost).await.map(|()| result)
    }

    /// The operation in a transaction: its result, and what is to be found out if the commit was not answered.
    async fn transact<T, F>(&self, conn: &mut AnyConnection, operation: F) -> StoreResult<(T, Option<Lost>)>
    where
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>>,
    {
        let began = async {
            let mut transaction = conn.begin_with(self.dialect.begin).await.map_err(unavailable)?;
            let work = Work {
                conn: &mut transaction,
                now: self.clock.now(),
                dialect: self.dialect,
            };
            match operation(work).await {
                Ok(result) => {
                    let id = transaction_id(&mut transaction).await?;
                    Ok((transaction, result, id))
                }
                Err(error) => {
                    // Should this fail, the connection is at its end, and the transaction with it.
                    let _ = transaction.rollback().await;
                    Err(error)
                }
            }
        };
        let (transaction, result, id) = timeout(ANSWERS_WITHIN, began).await.unwrap_or_else(|_| Err(late()))?;
        let lost = match timeout(ANSWERS_WITHIN, transaction.commit()).await {
            Ok(Ok(())) => return Ok((result, None)),
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

    /// Finds out whether a transaction was committed whose answer was lost: Ok if it was.
    async fn settle(&self, lost: Lost) -> StoreResult<()> {
        // One that wrote nothing may simply be made again.
        let Some(written) = lost.transaction else {
            return Err(lost.error);
        };
        tracing::warn!(error = %lost.error, "the answer to a commit was lost, asking what became of it");
        let limit = Instant::now() + STATUS_WITHIN;
        while Instant::now() < limit {
            match self.commit_status(&written).await {
                Ok(CommitStatus::Known(Some(status))) if status == "committed" => return Ok(()),
                Ok(CommitStatus::Known(Some(status))) if status == "aborted" => return Err(lost.error),
                Ok(CommitStatus::Known(Some(status))) if status == "in progress" => {}
                // Not made again here: it may have been made.
                Ok(CommitStatus::AnotherHistory) => {
                    tracing::error!(
                        "the server has another history than the commit: nobody can say whether it has that"
                    );
                    let why = "another server took over, and may have this write or not";
                    return Err(StoreError::Unavailable(why.to_owned()));
                }
                Err(StoreError::Unavailable(_)) => {}
                // Too old: it does not know this transaction any more.
                Ok(CommitStatus::Known(status)) => {
                    tracing::error!(?status, "the server does not know the transaction");
                    break;
                }
                Err(error) => {
                    tracing::error!(%error, "the server does not say what became of the transaction");
                    break;
                }
            }
            sleep(Duration::from_millis(500)).await;
        }
        self.failed.send_replace(true);
        Err(StoreError::Unavailable("the fate of a commit is not known".to_owned()))
    }

    async fn commit_status(&self, written: &Written) -> StoreResult<CommitStatus> {
        let mut conn = self.pool.acquire().await.map_err(unavailable)?;
        let asked = async {
            if present_of(&mut conn).await.map_err(unavailable)? != written.history {
                return Ok(CommitStatus::AnotherHistory);
            }
            let query = sqlx::query("SELECT pg_xact_status(CAST(CAST($1 AS TEXT) AS xid8)) AS status");
            let row = query.bind(written.id.clone()).fetch_one(&mut *conn).await;
            Ok(CommitStatus::Known(row.map_err(unavailable)?.maybe_text("status")?))
        };
        timeout(ANSWERS_WITHIN, asked).await.unwrap_or_else(|_| Err(late()))
    }
}

/// The transaction's own id, and the history it is in; none when it wrote nothing.
async fn transaction_id(conn: &mut AnyConnection) -> StoreResult<Option<Written>> {
    let query = composed(format!(
        "SELECT CAST(pg_current_xact_id_if_assigned() AS TEXT) AS id, {PRESENT} AS history"
    ));
    let row = query.fetch_one(conn).await.map_err(unavailable)?;
    let history = row.text("history")?;
    Ok(row.maybe_text("id")?.map(|id| Written { id, history }))
}

fn late() -> StoreError {
    StoreError::Unavailable(format!("no answer from the database within {ANSWERS_WITHIN:?}"))
}
