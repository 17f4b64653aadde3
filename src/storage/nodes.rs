//! Nodes: the processes that hold claims. With one process to a database file a new one means that the earlier are dead;
//! on a server a process is dead that gave no sign of life for a while.
//!
//! The times are those of the processes' own clocks, so those of nodes that share a server must agree within seconds: a
//! wrong one makes a living process stop dialing, but no call is placed twice, as every write is guarded by its epoch.

use std::time::Duration;

use actors::{
    dial_token::DialToken,
    id::{AttemptId, NodeId},
    ports::store::{LiveNode, NodeStore, Owner, StoreError, StoreResult},
    time::Timestamp,
};
use async_trait::async_trait;

use super::{
    SqlStore, Work,
    rows::{Columns, affected, unavailable},
};

/// Under this name the secret of the nodes stands in `cluster`.
const PEER_SECRET: &str = "peer_secret";

/// Two signs of life that lie further apart have a gap between them: they come every 3 s.
const GAP: Duration = Duration::from_secs(6);

async fn register(work: Work<'_>, node: NodeId, address: Option<String>) -> StoreResult<()> {
    if work.dialect.silence.is_none() {
        let dead = sqlx::query("UPDATE nodes SET state = 'dead' WHERE state = 'live'");
        affected(dead, work.conn).await?;
    }
    let insert = sqlx::query(
        "INSERT INTO nodes (id, state, started_at, seen_at, steady_since, address) VALUES ($1, 'live', $2, $2, $2, $3) \
         ON CONFLICT (id) DO UPDATE SET state = 'live', seen_at = excluded.seen_at, \
         steady_since = excluded.steady_since, address = excluded.address",
    );
    let insert = insert.bind(node.to_string()).bind(work.now.0).bind(address);
    affected(insert, work.conn).await.map(drop)
}

async fn heartbeat(work: Work<'_>, node: NodeId) -> StoreResult<()> {
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

async fn live(work: Work<'_>) -> StoreResult<Vec<LiveNode>> {
    let query = sqlx::query("SELECT id, address FROM nodes WHERE state = 'live' ORDER BY started_at, id");
    let rows = query.fetch_all(work.conn).await.map_err(unavailable)?;
    let read = rows.iter().map(|row| {
        Ok(LiveNode {
            id: row.id("id")?,
            address: row.maybe_text("address")?,
        })
    });
    read.collect()
}

async fn owner_of(work: Work<'_>, attempt: AttemptId) -> StoreResult<Option<Owner>> {
    let query = sqlx::query(
        "SELECT a.owner, a.epoch, n.state, n.address FROM attempts a LEFT JOIN nodes n ON n.id = a.owner \
         WHERE a.id = $1 AND a.state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown')",
    );
    let row = query.bind(attempt.to_string()).fetch_optional(work.conn).await;
    let Some(row) = row.map_err(unavailable)? else {
        return Ok(None);
    };
    Ok(Some(Owner {
        node: row.id("owner")?,
        epoch: row.int("epoch")?,
        alive: row.maybe_text("state")?.as_deref() == Some("live"),
        address: row.maybe_text("address")?,
    }))
}

async fn secret(work: Work<'_>, new: String) -> StoreResult<String> {
    let insert = sqlx::query("INSERT INTO cluster (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
    affected(insert.bind(PEER_SECRET).bind(new), &mut *work.conn).await?;
    let query = sqlx::query("SELECT value FROM cluster WHERE name = $1").bind(PEER_SECRET);
    let row = query.fetch_one(work.conn).await.map_err(unavailable)?;
    row.text("value")
}

#[async_trait]
impl NodeStore for SqlStore {
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()> {
        let address = address.map(str::to_owned);
        let registered = self.write(move |work| Box::pin(register(work, node, address))).await;
        if registered.is_ok() {
            self.set_me(node);
        }
        registered
    }

    async fn heartbeat(&self, node: NodeId) -> StoreResult<()> {
        self.write(move |work| Box::pin(heartbeat(work, node))).await
    }

    async fn live_nodes(&self) -> StoreResult<Vec<LiveNode>> {
        self.read(|work| Box::pin(live(work))).await
    }

    async fn owner_of(&self, attempt: AttemptId) -> StoreResult<Option<Owner>> {
        self.read(move |work| Box::pin(owner_of(work, attempt))).await
    }

    async fn cluster_secret(&self) -> StoreResult<String> {
        let new = DialToken::random().as_stored().to_owned();
        self.write(move |work| Box::pin(secret(work, new))).await
    }
}
