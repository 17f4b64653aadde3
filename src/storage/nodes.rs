//! Nodes: the processes that hold claims. With one process to a database file, a new one means the earlier are dead.

use actors::{
    id::NodeId,
    ports::store::{StoreError, StoreResult},
};

use super::{Work, rows::affected};

pub(super) async fn register(work: Work<'_>, node: NodeId) -> StoreResult<()> {
    affected(
        sqlx::query("UPDATE nodes SET state = 'dead' WHERE state = 'live'"),
        work.conn,
    )
    .await?;
    let insert = sqlx::query(
        "INSERT INTO nodes (id, state, started_at, seen_at) VALUES ($1, 'live', $2, $2) \
         ON CONFLICT (id) DO UPDATE SET state = 'live', seen_at = excluded.seen_at",
    );
    let insert = insert.bind(node.to_string()).bind(work.now.0);
    affected(insert, work.conn).await.map(drop)
}

pub(super) async fn heartbeat(work: Work<'_>, node: NodeId) -> StoreResult<()> {
    let update = sqlx::query("UPDATE nodes SET seen_at = $1 WHERE id = $2 AND state = 'live'");
    let update = update.bind(work.now.0).bind(node.to_string());
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}
