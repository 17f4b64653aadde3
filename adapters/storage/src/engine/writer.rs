//! The writer: one task on one connection. All operations that wait when it begins share one commit, each in
//! its own savepoint. No caller gets an answer before the commit is on disk.

use std::{
    fmt,
    fs::File,
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
use sqlx::{AnyConnection, Connection};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    dialect::SQLITE,
    open::Again,
    rows::{is_disk_full, unavailable},
    work::Work,
};

/// Most operations that may wait; further callers wait to be admitted.
const QUEUE: usize = 1_024;
/// Time a caller waits to be admitted.
const ADMISSION: Duration = Duration::from_secs(5);
/// Time during which a transaction accepts further operations.
const GROUP: Duration = Duration::from_millis(5);
/// Most operations in one transaction.
const GROUP_SIZE: usize = 512;

/// A queued operation whose result type is hidden.
trait Operation: Send {
    /// Runs the operation and keeps its result; false asks for the savepoint to be rolled back.
    fn perform<'c>(&'c mut self, work: Work<'c>) -> BoxFuture<'c, bool>;

    /// Answers the caller with its own result after a commit, otherwise with the error.
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
            // The operation that found the disk full made the whole group fail, and returns its own error.
            Err(error) => match self.result {
                Some(Err(own)) if own.is_disk_full() => Err(own),
                _ => Err(error),
            },
        };
        // A caller that went away does not need the result.
        let _ = self.reply.send(result);
    }
}

/// Message to the writer task.
enum Message {
    Run(Box<dyn Operation>),
    /// Finish the accepted operations, close the connection, release the file, then answer.
    Close(oneshot::Sender<()>),
}

/// Handle of the writer task, which ends once this is closed or dropped and its queue is empty.
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
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
    pub(crate) fn start(
        conn: AnyConnection,
        again: Option<Again>,
        lock: Option<File>,
        clock: Arc<dyn Clock>,
        event_signals: Arc<EventSignals>,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (failed, failed_seen) = watch::channel(false);
        let task = Task {
            conn,
            again,
            unfit: false,
            clock,
            alarm: Alarm(failed),
            event_signals,
        };
        tokio::spawn(async move {
            let closer = task.run(waiting).await;
            drop(lock);
            if let Some(closer) = closer {
                // The caller of `close` may have gone away.
                let _ = closer.send(());
            }
        });
        Self {
            queue,
            failed: failed_seen,
        }
    }

    pub(crate) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }

    /// Waits until all accepted operations are on disk and the file is released. Later operations are refused.
    pub(crate) async fn close(&self) {
        let (closed, closing) = oneshot::channel();
        if self.queue.send(Message::Close(closed)).await.is_ok() {
            // An error means that the task has already ended.
            let _ = closing.await;
        }
    }

    pub(crate) async fn run<T, F>(&self, work: F) -> StoreResult<T>
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
        let message = Message::Run(Box::new(operation));
        let admitted = self.queue.send_timeout(message, ADMISSION).await;
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
    StoreError::Unavailable("the database is closed, or its last commit failed".to_owned())
}

/// Raised permanently by a failed commit and by a panic of the task.
struct Alarm(watch::Sender<bool>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.send_replace(true);
        }
    }
}

/// Reason why a group was not committed.
enum GroupError {
    /// The group never began or was rolled back as a whole; the next one may succeed.
    Passing(StoreError),
    /// The commit failed; its outcome is unknown.
    Fatal(StoreError),
}

struct Task {
    conn: AnyConnection,
    again: Option<Again>,
    /// A transaction ended differently than the connection believes. SQLite itself ends one that finds no
    /// space, and every later attempt to end it is refused.
    unfit: bool,
    clock: Arc<dyn Clock>,
    alarm: Alarm,
    event_signals: Arc<EventSignals>,
}

impl Task {
    async fn run(mut self, mut waiting: mpsc::Receiver<Message>) -> Option<oneshot::Sender<()>> {
        let mut closer = None;
        while let Some(message) = waiting.recv().await {
            let mut group = Vec::new();
            match message {
                Message::Run(first) => group.push(first),
                Message::Close(closed) => close_queue(&mut waiting, &mut closer, closed),
            }
            if !group.is_empty() && !self.answer_group(group, &mut waiting, &mut closer).await {
                return closer;
            }
        }
        if let Err(error) = self.conn.close().await {
            tracing::warn!(%error, "database not closed cleanly");
        }
        closer
    }

    /// Commits a group and answers its callers. Returns false if nothing more may be written.
    async fn answer_group(
        &mut self,
        mut group: Vec<Box<dyn Operation>>,
        waiting: &mut mpsc::Receiver<Message>,
        closer: &mut Option<oneshot::Sender<()>>,
    ) -> bool {
        let committed = match self.mend().await {
            Ok(()) => self.commit_group(&mut group, waiting, closer).await,
            Err(error) => Err(GroupError::Passing(error)),
        };
        self.unfit |= committed.is_err();
        let (answer, fatal) = match committed {
            Ok(()) => (Ok(()), false),
            Err(GroupError::Passing(error)) => (Err(error), false),
            Err(GroupError::Fatal(error)) => (Err(error), true),
        };
        if let Err(error) = &answer {
            tracing::error!(%error, fatal, operations = group.len(), "group of writes not committed");
        }
        if fatal {
            // Set this before the callers get their answers, so that none of them finds the store healthy.
            self.alarm.0.send_replace(true);
        }
        for operation in group {
            operation.answer(answer.clone());
        }
        !fatal
    }

    /// Replaces a connection that has become unusable. The old connection's open transaction is rolled back as it ends.
    async fn mend(&mut self) -> StoreResult<()> {
        let Some(again) = self.again.as_ref().filter(|_| self.unfit) else {
            return Ok(());
        };
        let old = std::mem::replace(&mut self.conn, again.open().await?);
        if let Err(error) = old.close_hard().await {
            tracing::debug!(%error, "old writer connection not closed cleanly");
        }
        self.unfit = false;
        Ok(())
    }

    async fn commit_group(
        &mut self,
        group: &mut Vec<Box<dyn Operation>>,
        waiting: &mut mpsc::Receiver<Message>,
        closer: &mut Option<oneshot::Sender<()>>,
    ) -> Result<(), GroupError> {
        let mut transaction = self.conn.begin_with(SQLITE.begin).await.map_err(passing)?;
        let began = Instant::now();
        let has_events = AtomicBool::default();
        let mut next = 0;
        while let Some(operation) = group.get_mut(next) {
            let mut savepoint = transaction.begin().await.map_err(passing)?;
            let work = Work {
                conn: &mut savepoint,
                now: self.clock.now(),
                dialect: &SQLITE,
                has_events: &has_events,
            };
            if operation.perform(work).await {
                savepoint.commit().await.map_err(passing)?;
            } else {
                savepoint.rollback().await.map_err(passing)?;
            }
            next += 1;
            if next == group.len() && next < GROUP_SIZE && began.elapsed() < GROUP {
                // Callers answered by the previous commit are about to come back.
                tokio::task::yield_now().await;
                match waiting.try_recv() {
                    Ok(Message::Run(operation)) => group.push(operation),
                    Ok(Message::Close(closed)) => close_queue(waiting, closer, closed),
                    Err(_) => {}
                }
            }
        }
        let committed = transaction.commit().await;
        if committed.is_ok() && has_events.load(Ordering::Relaxed) {
            self.event_signals.wrote();
        }
        committed.map_err(|error| match is_disk_full(&error) {
            // The log holds less than the commit; that part is not a commit and is overwritten.
            true => GroupError::Passing(unavailable(error)),
            false => GroupError::Fatal(StoreError::Unavailable(format!("commit failed: {error}"))),
        })
    }
}

fn passing(error: sqlx::Error) -> GroupError {
    GroupError::Passing(match is_disk_full(&error) {
        true => unavailable(error),
        false => StoreError::Unavailable(format!("transaction failed: {error}")),
    })
}

fn close_queue(
    waiting: &mut mpsc::Receiver<Message>,
    closer: &mut Option<oneshot::Sender<()>>,
    closed: oneshot::Sender<()>,
) {
    waiting.close();
    *closer = Some(closed);
}

#[cfg(test)]
mod tests {
    use domain::time::SystemClock;

    use super::*;
    use crate::engine::rows::Columns;

    async fn writer() -> Writer {
        sqlx::any::install_default_drivers();
        let mut conn = AnyConnection::connect("sqlite::memory:").await.unwrap();
        for table in [
            "parent (id BIGINT PRIMARY KEY)",
            "child (id BIGINT REFERENCES parent (id))",
        ] {
            let create = sqlx::AssertSqlSafe(format!("CREATE TABLE {table}"));
            sqlx::query(create).execute(&mut conn).await.unwrap();
        }
        Writer::start(conn, None, None, Arc::new(SystemClock), Arc::default())
    }

    async fn all(work: Work<'_>, statements: &'static [&'static str]) -> StoreResult<()> {
        for statement in statements {
            let done = sqlx::query(*statement).execute(&mut *work.conn).await;
            done.map_err(unavailable)?;
        }
        Ok(())
    }

    async fn execute(writer: &Writer, statements: &'static [&'static str]) -> StoreResult<()> {
        writer.run(move |work| Box::pin(all(work, statements))).await
    }

    async fn count(work: Work<'_>) -> StoreResult<i64> {
        let row = sqlx::query("SELECT COUNT(*) AS parents FROM parent")
            .fetch_one(work.conn)
            .await;
        row.unwrap().int("parents")
    }

    async fn parents(writer: &Writer) -> StoreResult<i64> {
        writer.run(|work| Box::pin(count(work))).await
    }

    #[tokio::test]
    async fn a_failing_operation_leaves_its_neighbours_alone() {
        let writer = writer().await;
        let (one, bad, two) = tokio::join!(
            execute(&writer, &["INSERT INTO parent VALUES (1)"]),
            execute(
                &writer,
                &["INSERT INTO parent VALUES (5)", "INSERT INTO child VALUES (9)"]
            ),
            execute(&writer, &["INSERT INTO parent VALUES (2)"]),
        );
        assert_eq!((one, bad, two), (Ok(()), Err(StoreError::NotFound), Ok(())));
        assert_eq!(parents(&writer).await, Ok(2));
        assert!(!*writer.failed().borrow());
    }

    #[tokio::test]
    async fn after_a_failed_commit_nothing_is_written() {
        let writer = writer().await;
        // A deferred constraint is checked by the commit.
        let broken = &["PRAGMA defer_foreign_keys = ON", "INSERT INTO child VALUES (9)"];
        // The broken operation comes first: its neighbour is in the same group or finds the writer ended.
        let (broken, neighbour) = tokio::join!(
            execute(&writer, broken),
            execute(&writer, &["INSERT INTO parent VALUES (1)"])
        );
        for outcome in [
            broken,
            neighbour,
            execute(&writer, &["INSERT INTO parent VALUES (2)"]).await,
        ] {
            assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
        }
        assert!(*writer.failed().borrow());
    }

    #[tokio::test]
    async fn what_was_accepted_is_written_before_the_writer_closes() {
        let writer = writer().await;
        let (written, ()) = tokio::join!(execute(&writer, &["INSERT INTO parent VALUES (1)"]), writer.close());
        assert_eq!(written, Ok(()));
        let late = execute(&writer, &["INSERT INTO parent VALUES (2)"]).await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
        writer.close().await;
    }
}
