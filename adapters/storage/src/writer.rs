//! The writer: one task on one connection. What waits when it begins shares one commit, each operation in a savepoint
//! of its own, and nobody is answered before the commit is on disk.

use std::{
    fmt,
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    ports::store::{StoreError, StoreResult},
    time::Clock,
};
use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, Connection};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    Work,
    dialect::Dialect,
    open::Again,
    rows::{is_disk_full, unavailable},
};

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
            // The one that found no room took the group down with it, and says why.
            Err(error) => match self.result {
                Some(Err(own)) if own.is_disk_full() => Err(own),
                _ => Err(error),
            },
        };
        // A caller that went away does not want to know.
        let _ = self.reply.send(result);
    }
}

/// What the task is sent.
enum Message {
    Run(Box<dyn Operation>),
    /// Finish what was accepted, close the connection, free the file, then answer.
    Close(oneshot::Sender<()>),
}

/// The door to the writer task, which ends when this is closed or dropped and its queue is empty.
pub(super) struct Writer {
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
    pub(super) fn start(
        (conn, again): (AnyConnection, Option<Again>),
        lock: Option<File>,
        clock: Arc<dyn Clock>,
        dialect: &'static Dialect,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (failed, failed_seen) = watch::channel(false);
        let task = Task {
            conn,
            again,
            unfit: false,
            clock,
            dialect,
            alarm: Alarm(failed),
        };
        tokio::spawn(async move {
            let closer = task.run(waiting).await;
            drop(lock);
            if let Some(closer) = closer {
                // Whoever asked may have gone away.
                let _ = closer.send(());
            }
        });
        Self {
            queue,
            failed: failed_seen,
        }
    }

    pub(super) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }

    /// Waits until all that was accepted is on disk and the file is free. Later operations are refused.
    pub(super) async fn close(&self) {
        let (closed, closing) = oneshot::channel();
        if self.queue.send(Message::Close(closed)).await.is_ok() {
            // An error means that the task ended by itself.
            let _ = closing.await;
        }
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
    again: Option<Again>,
    /// A transaction did not end as the connection believes: SQLite itself ends one that finds no room, and whoever asks
    /// for its end afterwards is refused, over and over.
    unfit: bool,
    clock: Arc<dyn Clock>,
    dialect: &'static Dialect,
    alarm: Alarm,
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
            tracing::warn!(%error, "the database was not closed cleanly");
        }
        closer
    }

    /// Commits a group and tells its callers; false when nothing more may be written.
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
            tracing::error!(%error, fatal, operations = group.len(), "a group of writes was not committed");
        }
        if fatal {
            // Before the callers hear of it, so that none of them finds the store sound.
            self.alarm.0.send_replace(true);
        }
        for operation in group {
            operation.answer(answer.clone());
        }
        !fatal
    }

    /// Takes a new connection in the place of one that is not fit for use any more. What that one had open is rolled back
    /// as it ends.
    async fn mend(&mut self) -> StoreResult<()> {
        let Some(again) = self.again.as_ref().filter(|_| self.unfit) else {
            return Ok(());
        };
        let old = std::mem::replace(&mut self.conn, again.open().await?);
        if let Err(error) = old.close_hard().await {
            tracing::debug!(%error, "the writer's old connection was not closed cleanly");
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
                // Callers answered by the commit before this one are about to come back.
                tokio::task::yield_now().await;
                match waiting.try_recv() {
                    Ok(Message::Run(operation)) => group.push(operation),
                    Ok(Message::Close(closed)) => close_queue(waiting, closer, closed),
                    Err(_) => {}
                }
            }
        }
        let committed = transaction.commit().await;
        committed.map_err(|error| match is_disk_full(&error) {
            // The log took less than the commit: what is in it of that is no commit, and is written over.
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
    use crate::{dialect::SQLITE, rows::Columns};

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
        Writer::start((conn, None), None, Arc::new(SystemClock), &SQLITE)
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
        let (neighbour, broken) = tokio::join!(
            execute(&writer, &["INSERT INTO parent VALUES (1)"]),
            execute(&writer, broken)
        );
        for outcome in [
            neighbour,
            broken,
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
