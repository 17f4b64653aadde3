//! Nodes: the processes that hold claims. With one process to a database file a new one means that the earlier are dead;
//! on a server a process is dead that gave no sign of life for a while.
//!
//! The times are those of the processes' own clocks, so those of nodes that share a server must agree within seconds: a
//! wrong one makes a living process stop dialing, but no call is placed twice, as every write is guarded by its epoch.

use std::time::Duration;

use actors::{
    id::NodeId,
    ports::store::{StoreError, StoreResult},
    time::Timestamp,
};

use super::{
    Work,
    rows::{Columns, affected, unavailable},
};

/// Two signs of life that lie further apart have a gap between them: they come every 3 s.
const GAP: Duration = Duration::from_secs(6);

pub(super) async fn register(work: Work<'_>, node: NodeId) -> StoreResult<()> {
    if work.dialect.silence.is_none() {
        let dead = sqlx::query("UPDATE nodes SET state = 'dead' WHERE state = 'live'");
        affected(dead, work.conn).await?;
    }
    let insert = sqlx::query(
        "INSERT INTO nodes (id, state, started_at, seen_at, steady_since) VALUES ($1, 'live', $2, $2, $2) \
         ON CONFLICT (id) DO UPDATE SET state = 'live', seen_at = excluded.seen_at, \
         steady_since = excluded.steady_since",
    );
    let insert = insert.bind(node.to_string()).bind(work.now.0);
    affected(insert, work.conn).await.map(drop)
}

pub(super) async fn heartbeat(work: Work<'_>, node: NodeId) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE nodes SET steady_since = CASE WHEN seen_at < $1 THEN $2 ELSE steady_since END, seen_at = $2 \
         WHERE id = $3 AND state = 'live'",
    );
    let update = update.bind(before(work.now, GAP)).bind(work.now.0);
    match affected(update.bind(node.to_string()), work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

/// Declares those dead that were silent for too long; `Fenced` for a node that is itself. Only a node may that was
/// never silent in all that time: when the database comes back from a failure, everybody was.
pub(super) async fn bury_silent(work: &mut Work<'_>, node: NodeId) -> StoreResult<()> {
    let Some(silence) = work.dialect.silence else {
        return Ok(());
    };
    let limit = before(work.now, silence);
    let own = sqlx::query("SELECT seen_at, steady_since FROM nodes WHERE id = $1 AND state = 'live'");
    let own = own.bind(node.to_string()).fetch_optional(&mut *work.conn).await;
    let own = own.map_err(unavailable)?.ok_or(StoreError::Fenced)?;
    if own.int("steady_since")? > limit || own.int("seen_at")? < before(work.now, GAP) {
        return Ok(());
    }
    let bury = sqlx::query("UPDATE nodes SET state = 'dead' WHERE state = 'live' AND id <> $1 AND seen_at <= $2");
    let bury = bury.bind(node.to_string()).bind(limit);
    match affected(bury, work.conn).await? {
        0 => {}
        dead => tracing::warn!(dead, "processes gave no sign of life and were declared dead"),
    }
    Ok(())
}

fn before(now: Timestamp, by: Duration) -> i64 {
    now.0 - i64::try_from(by.as_micros()).unwrap_or(i64::MAX)
}
