//! Nodes: the processes that hold claims. If only one process may use the database, a new one means that the
//! earlier ones are dead. On a server, a process is dead after a period without a sign of life.
//!
//! A service takes these times from the server's clock ([`crate::engine::SqlStore::of_nodes`]), so its own clock
//! decides nothing here. Each sign of life tells it how far apart the two clocks are.

pub mod dial_recovery;

mod times;

use async_trait::async_trait;
use domain::{
    dial_token::DialToken,
    id::{AttemptId, NodeId},
    ports::store::{Claim, LiveNode, NodeStore, Owner, Pulse, StoreError, StoreResult},
};

use crate::{
    attempts::attempt_guard::bind_claim,
    engine::{
        SqlStore, Work,
        liveness::{Liveness, before},
        rows::{Columns, Fetch, affected},
    },
};

/// Name of the nodes' shared secret in the table `cluster`.
const PEER_SECRET: &str = "peer_secret";

async fn register(mut work: Work<'_>, node: NodeId, address: Option<String>, liveness: Liveness) -> StoreResult<()> {
    let (now, _) = liveness.now(&mut work).await?;
    times::agree(&mut work, node, liveness.times, now).await?;
    if !work.dialect.many_nodes {
        let dead = sqlx::query("UPDATE nodes SET state = 'dead' WHERE state = 'live'");
        affected(dead, &mut *work.conn).await?;
    }
    let insert = sqlx::query(
        "INSERT INTO nodes (id, state, started_at, seen_at, steady_since, address) VALUES ($1, 'live', $2, $2, $2, $3) \
         ON CONFLICT (id) DO UPDATE SET state = 'live', seen_at = excluded.seen_at, \
         steady_since = excluded.steady_since, address = excluded.address",
    );
    let insert = insert.bind(node.to_string()).bind(now.0).bind(address);
    affected(insert, work.conn).await.map(drop)
}

/// Records a sign of life. If the server may have lost the node, it is registered again with its earlier values.
async fn heartbeat(
    mut work: Work<'_>,
    node: NodeId,
    liveness: Liveness,
    registered: Option<Option<String>>,
) -> StoreResult<Pulse> {
    let (now, ahead_ms) = liveness.now(&mut work).await?;
    let update = sqlx::query(
        "UPDATE nodes SET steady_since = CASE WHEN seen_at < $1 THEN $2 ELSE steady_since END, seen_at = $2 \
         WHERE id = $3 AND state = 'live'",
    );
    let update = update.bind(before(now, liveness.times.gap())).bind(now.0);
    if affected(update.bind(node.to_string()), &mut *work.conn).await? == 0 {
        let address = registered.ok_or(StoreError::Fenced)?;
        // A node that was declared dead stays dead.
        let insert = sqlx::query(
            "INSERT INTO nodes (id, state, started_at, seen_at, steady_since, address) \
             VALUES ($1, 'live', $2, $2, $2, $3) ON CONFLICT (id) DO NOTHING",
        );
        let insert = insert.bind(node.to_string()).bind(now.0).bind(address);
        if affected(insert, &mut *work.conn).await? == 0 {
            return Err(StoreError::Fenced);
        }
        tracing::error!(%node, "database lost this node; registered again");
    }
    let count = sqlx::query("SELECT COUNT(*) AS nodes FROM nodes WHERE state = 'live'");
    let row = count.one(work.conn).await?;
    Ok(Pulse {
        nodes: usize::try_from(row.int("nodes")?).unwrap_or(usize::MAX),
        ahead_ms,
    })
}

async fn sign_off(work: Work<'_>, node: NodeId) -> StoreResult<()> {
    let update = sqlx::query("UPDATE nodes SET state = 'dead' WHERE id = $1 AND state = 'live'");
    affected(update.bind(node.to_string()), work.conn).await.map(drop)
}

async fn live(work: Work<'_>) -> StoreResult<Vec<LiveNode>> {
    let query = sqlx::query("SELECT id, address FROM nodes WHERE state = 'live' ORDER BY started_at, id");
    let rows = query.all(work.conn).await?;
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
    let row = query.bind(attempt.to_string()).optional(work.conn).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(Owner {
        node: row.id("owner")?,
        epoch: row.int("epoch")?,
        alive: row.maybe_text("state")?.as_deref() == Some("live"),
        address: row.maybe_text("address")?,
    }))
}

async fn last_holder(work: Work<'_>, attempt: AttemptId) -> StoreResult<Option<Claim>> {
    let query = sqlx::query("SELECT owner, epoch FROM attempts WHERE id = $1 AND owner IS NOT NULL");
    let row = query.bind(attempt.to_string()).optional(work.conn).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(Claim {
        attempt,
        owner: row.id("owner")?,
        epoch: row.int("epoch")?,
    }))
}

async fn lost(work: Work<'_>, claims: Vec<Claim>) -> StoreResult<Vec<Claim>> {
    let mut lost = Vec::new();
    for claim in claims {
        let query = sqlx::query(
            "SELECT id FROM attempts WHERE id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3 \
             AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown')",
        );
        let row = bind_claim(query, claim).optional(&mut *work.conn).await?;
        if row.is_none() {
            lost.push(claim);
        }
    }
    Ok(lost)
}

async fn secret(work: Work<'_>, new: String) -> StoreResult<String> {
    let insert = sqlx::query("INSERT INTO cluster (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
    affected(insert.bind(PEER_SECRET).bind(new), &mut *work.conn).await?;
    let query = sqlx::query("SELECT value FROM cluster WHERE name = $1").bind(PEER_SECRET);
    let row = query.one(work.conn).await?;
    row.text("value")
}

#[async_trait]
impl NodeStore for SqlStore {
    async fn register_node(&self, node: NodeId, address: Option<&str>) -> StoreResult<()> {
        let address = address.map(str::to_owned);
        let (liveness, known_at) = (self.liveness(), address.clone());
        let registered = self
            .write(move |work| Box::pin(register(work, node, address, liveness)))
            .await;
        if registered.is_ok() {
            self.set_me(node, known_at);
        }
        registered
    }

    async fn heartbeat(&self, node: NodeId) -> StoreResult<Pulse> {
        let (liveness, history) = (self.liveness(), self.history.clone());
        let me = self.registered().filter(|(me, _)| *me == node);
        self.write(move |work| {
            Box::pin(async move {
                let forgot = history.is_some_and(|history| history.check().is_err());
                let registered = me.filter(|_| forgot).map(|(_, address)| address);
                heartbeat(work, node, liveness, registered).await
            })
        })
        .await
    }

    async fn sign_off(&self, node: NodeId) -> StoreResult<()> {
        self.write(move |work| Box::pin(sign_off(work, node))).await
    }

    async fn live_nodes(&self) -> StoreResult<Vec<LiveNode>> {
        self.read(|work| Box::pin(live(work))).await
    }

    async fn owner_of(&self, attempt: AttemptId) -> StoreResult<Option<Owner>> {
        match self.read(move |work| Box::pin(owner_of(work, attempt))).await? {
            None => self.compared().map(|()| None),
            owner => Ok(owner),
        }
    }

    async fn last_holder(&self, attempt: AttemptId) -> StoreResult<Option<Claim>> {
        // Uses a writer, which is certainly connected to the primary.
        self.write(move |work| Box::pin(last_holder(work, attempt))).await
    }

    async fn lost_claims(&self, claims: &[Claim]) -> StoreResult<Vec<Claim>> {
        let claims = claims.to_vec();
        // Uses a writer, which is certainly connected to the primary.
        let lost = self.write(move |work| Box::pin(lost(work, claims))).await?;
        match lost.is_empty() {
            true => Ok(lost),
            // A server that took over may have lost them.
            false => self.under_claim(Err(StoreError::Fenced)).or_else(|error| match error {
                StoreError::Fenced => Ok(lost),
                error => Err(error),
            }),
        }
    }

    async fn cluster_secret(&self) -> StoreResult<String> {
        let new = DialToken::random().as_stored().to_owned();
        self.write(move |work| Box::pin(secret(work, new))).await
    }
}
