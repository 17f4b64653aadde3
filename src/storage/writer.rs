//! The writer: one task on one connection. What waits when it begins shares one commit, each operation in a savepoint
//! of its own, and nobody is answered before the commit is on disk.

use std::{
    fmt,
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use actors::{
    ports::store::{StoreError, StoreResult},
    time::Clock,
};
use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, Connection};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Work, dialect::Dialect, rows::unavailable};

/// Operations that may wait; the next caller waits to be let in.
const QUEUE: usize = 1_024;
/// For how long a caller waits to be let in.
const ADMISSION: Duration = Duration::from_secs(5);
/// For how long a transaction takes in further operations.
const GROUP: Duration = Duration::from_millis(5);
/// … and at most so many.
const GROUP_SIZE: usize = 512;

/// A queued operation whose result type is hidden.
trait Operation: Send {
    /// Does the work and keeps its result; false asks for the savepoint to be rolled back.
    fn perform<'c>(&'c mut self, work: Work<'c>) -> BoxFuture<'c, bool>;

    /// Tells the caller: its own result after a commit, else why there was none.
    fn answer(self: Box<Self>, commit: StoreResult<()>);
}

struct Queued<T, F> {
    work: Option<F>,
    result: Option<StoreResult<T>>,
    reply: oneshot::Sender<StoreResult<T>>,
}

impl<T, F> Operation for Queued<T, F>
where
    T: Send + 'static,
    F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Send,
{
    fn perform<'c>(&'c mut self, work: Work<'c>) -> BoxFuture<'c, bool> {
        Box::pin(async move {
            let Some(operation) = self.work.take() else {
                return false;
            };
            let result = operation(work).await;
            let keep = result.is_ok();
            self.result = Some(result);
            keep
        })
    }

    fn answer(self: Box<Self>, commit: StoreResult<()>) {
        let never_run = || Err(StoreError::Unavailable("the operation was not run".to_owned()));
        let result = match commit {
            Ok(()) => self.result.unwrap_or_else(never_run),
            Err(error) => Err(error),
        };
        // A caller that went away does not want to know.
        let _ = self.reply.send(result);
    }
}

/// The door to the writer task, which ends when this is dropped and its queue is empty.
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Operation>>,
    failed: watch::Receiver<bool>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("failed", &*self.failed.borrow())
            .finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn start(
        conn: AnyConnection,
        lock: Option<File>,
        clock: Arc<dyn Clock>,
        dialect: &'static Dialect,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (failed, failed_seen) = watch::channel(false);
        let task = Task {
            conn,
            clock,
            dialect,
            alarm: Alarm(failed),
        };
        tokio::spawn(async move {
            task.run(waiting).await;
            drop(lock);
        });
        Self {
            queue,
            failed: failed_seen,
        }
    }

    pub(super) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }

    pub(super) async fn run<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(Work<'c>) -> BoxFuture<'c, StoreResult<T>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let operation = Queued {
            work: Some(work),
            result: None,
            reply,
        };
        let admitted = self.queue.send_timeout(Box::new(operation), ADMISSION).await;
        admitted.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => {
                StoreError::Unavailable("too many writes wait for the database".to_owned())
            }
            mpsc::error::SendTimeoutError::Closed(_) => gone(),
        })?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("the database writer has stopped after a failed commit".to_owned())
}

/// Raised for good by a failed commit, and by a panic of the task.
struct Alarm(watch::Sender<bool>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.send_replace(true);
        }
    }
}

/// Why a group was not committed.
enum GroupError {
    /// It never began, or was rolled back whole: the next one may do better.
    Passing(StoreError),
    /// The commit failed: what is on disk is not known.
    Fatal(StoreError),
}

struct Task {
    conn: AnyConnection,
    clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
    alarm: Alarm,
}

impl Task {
    async fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Operation>>) {
        while let Some(first) = waiting.recv().await {
            let mut group = vec![first];
            let outcome = self.commit_group(&mut group, &mut waiting).await;
            let (answer, fatal) = match outcome {
                Ok(()) => (Ok(()), false),
                Err(GroupError::Passing(error)) => (Err(error), false),
                Err(GroupError::Fatal(error)) => (Err(error), true),
            };
            if let Err(error) = &answer {
                tracing::error!(%error, fatal, operations = group.len(), "a group of writes was not committed");
            }
            if fatal {
                // Before the callers hear of it, so that none of them finds the store sound.
                self.alarm.0.send_replace(true);
            }
            for operation in group {
                operation.answer(answer.clone());
            }
            if fatal {
                return;
            }
        }
        if let Err(error) = self.conn.close().await {
            tracing::warn!(%error, "the database was not closed cleanly");
        }
    }

    async fn commit_group(
        &mut self,
        group: &mut Vec<Box<dyn Operation>>,
        waiting: &mut mpsc::Receiver<Box<dyn Operation>>,
    ) -> Result<(), GroupError> {
        let passing = |error| GroupError::Passing(unavailable(error));
        let mut transaction = self.conn.begin_with(self.dialect.begin).await.map_err(passing)?;
        let began = Instant::now();
        let mut next = 0;
        while let Some(operation) = group.get_mut(next) {
            let mut savepoint = transaction.begin().await.map_err(passing)?;
            let work = Work {
                conn: &mut savepoint,
                now: self.clock.now(),
                dialect: self.dialect,
            };
            if operation.perform(work).await {
                savepoint.commit().await.map_err(passing)?;
            } else {
                savepoint.rollback().await.map_err(passing)?;
            }
            next += 1;
            if next == group.len() && next < GROUP_SIZE && began.elapsed() < GROUP {
                // Callers just answered by the commit before this one are about to come back.
                tokio::task::yield_now().await;
                group.extend(waiting.try_recv().ok());
            }
        }
        let committed = transaction.commit().await;
        committed.map_err(|error| GroupError::Fatal(unavailable(error)))
    }
}
