//! Liveness of nodes, by the server's clock or the process's.

use std::{sync::Arc, time::Duration};

use domain::{
    id::NodeId,
    node_times::Times,
    ports::store::{StoreError, StoreResult},
    time::{Clock, Timestamp},
};

use super::{
    rows::{Columns, Fetch},
    work::Work,
};

/// Decides which nodes are alive: the times, and the clock that measures them.
#[derive(Debug, Clone)]
pub(crate) struct Liveness {
    pub(crate) times: Times,
    /// The process's clock. It decides unless the server's clock does; then it only shows the difference.
    clock: Arc<dyn Clock>,
    server: bool,
}

impl Liveness {
    pub(crate) fn new(times: Times, clock: Arc<dyn Clock>, server: bool) -> Self {
        Self { times, clock, server }
    }

    /// Returns the deciding instant, and the number of milliseconds by which it is certainly ahead of the
    /// process's clock.
    pub(crate) async fn now(&self, work: &mut Work<'_>) -> StoreResult<(Timestamp, i64)> {
        if !(self.server && work.dialect.concurrent) {
            return Ok((work.now, 0));
        }
        let before = self.clock.now();
        let query = sqlx::query("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now");
        let row = query.one(&mut *work.conn).await?;
        let (now, after) = (row.time("now")?, self.clock.now());
        let ahead = if now > after {
            now.0 - after.0
        } else {
            (now.0 - before.0).min(0)
        };
        Ok((now, ahead / 1_000))
    }
}

/// Declares silent nodes dead and returns the instant used for that. Returns `Fenced` if the node itself is
/// dead. A node may declare others dead only if it was never silent itself for that long: when the database
/// comes back from an outage, every node was silent.
pub(crate) async fn declare_silent_dead(
    work: &mut Work<'_>,
    node: NodeId,
    liveness: &Liveness,
) -> StoreResult<Timestamp> {
    let (now, _) = liveness.now(work).await?;
    if !work.dialect.many_nodes {
        return Ok(now);
    }
    let limit = before(now, liveness.times.dead_after);
    let own = sqlx::query("SELECT seen_at, steady_since FROM nodes WHERE id = $1 AND state = 'live'");
    let own = own.bind(node.to_string()).optional(&mut *work.conn).await?;
    let own = own.ok_or(StoreError::Fenced)?;
    if own.int("steady_since")? > limit || own.int("seen_at")? < before(now, liveness.times.gap()) {
        return Ok(now);
    }
    declare_dead(work, node, limit).await?;
    Ok(now)
}

/// Declares the other nodes dead whose last sign of life is at `limit` or earlier.
pub(crate) async fn declare_dead(work: &mut Work<'_>, node: NodeId, limit: i64) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE nodes SET state = 'dead' WHERE state = 'live' AND id <> $1 AND seen_at <= $2 RETURNING id, address",
    );
    let update = update.bind(node.to_string()).bind(limit);
    for dead in update.all(&mut *work.conn).await? {
        let (dead, address) = (dead.text("id")?, dead.maybe_text("address")?);
        tracing::warn!(dead, address, "silent node declared dead");
    }
    Ok(())
}

pub(crate) fn before(now: Timestamp, by: Duration) -> i64 {
    now.0 - i64::try_from(by.as_micros()).unwrap_or(i64::MAX)
}
