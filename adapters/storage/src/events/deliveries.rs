//! The outbox of deliveries: created in the transaction that ends a call, leased per lane, settled under the lease.

mod made;
mod settled;

pub(crate) use made::{insert, make};
pub(crate) use settled::give_up_some;

use made::{AFTER_CALLS, OF_ENDPOINTS, TABLES};

use async_trait::async_trait;
use domain::{
    deliveries::{DeliveryKind, is_endpoint_lane},
    id::{AttemptId, DeliveryId},
    ports::store::{
        CampaignContact, DELIVERY_LEASE, Delivery, DeliveryRow, DeliveryState, DeliveryStore, DueLane,
        FAILURES_FORGIVEN, Settled, Sought, Standing, StoreResult,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    callee,
    engine::{
        SqlStore, Work,
        rows::{Columns, Fetch, affected, composed},
    },
};

/// Steps from lane to lane in the index of pending deliveries, so that a long backlog of one lane does not
/// slow down the others.
async fn due_lanes(mut work: Work<'_>, sought: Sought, limit: i64) -> StoreResult<Vec<DueLane>> {
    let mut due = Vec::new();
    for table in TABLES {
        due.extend(due_lanes_in(&mut work, table, sought, limit).await?);
    }
    due.sort_by_key(|(due_at, _)| *due_at);
    due.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(due.into_iter().map(|(_, lane)| lane).collect())
}

async fn due_lanes_in(
    work: &mut Work<'_>,
    table: &str,
    sought: Sought,
    limit: i64,
) -> StoreResult<Vec<(i64, DueLane)>> {
    let query = composed(format!(
        "WITH RECURSIVE pending (lane) AS ( \
             SELECT MIN(lane) FROM {table} WHERE state = 'pending' \
             UNION ALL \
             SELECT (SELECT MIN(d.lane) FROM {table} d WHERE d.state = 'pending' AND d.lane > p.lane) \
             FROM pending p WHERE p.lane IS NOT NULL), \
         waiting AS ( \
             SELECT l.lane, l.proven, l.failures, \
             (SELECT MIN(d.due_at) FROM {table} d WHERE d.state = 'pending' AND d.lane = l.lane AND d.failed >= $5) AS due_at \
             FROM pending p JOIN delivery_lanes l ON l.lane = p.lane \
             WHERE l.hold_until <= $1 AND ($2 = 1 OR l.failures = 0 OR (l.proven = 1 AND l.failures < $3))) \
         SELECT lane, proven, failures, due_at FROM waiting WHERE due_at <= $1 ORDER BY due_at, lane LIMIT $4"
    ))
    .bind(work.now.0)
    .bind(i64::from(sought.failing_lanes))
    .bind(FAILURES_FORGIVEN)
    .bind(limit.max(0))
    .bind(sought.least_failed());
    let rows = query.all(&mut *work.conn).await?;
    let lane = |row: &AnyRow| {
        let lane = DueLane {
            lane: row.text("lane")?,
            standing: Standing::of(row.flag("proven")?, row.int("failures")?),
        };
        Ok((row.int("due_at")?, lane))
    };
    rows.iter().map(lane).collect()
}

async fn lease(work: Work<'_>, sought: Sought, lanes: Vec<(String, i64)>) -> StoreResult<Vec<Delivery>> {
    let skip_locked = work.dialect.skip_locked;
    let mut leased = Vec::new();
    for (lane, most) in lanes {
        let of_endpoint = is_endpoint_lane(&lane);
        let (table, own) = match of_endpoint {
            true => (OF_ENDPOINTS, "endpoint"),
            false => (AFTER_CALLS, "attempt, kind, target"),
        };
        let query = composed(format!(
            "WITH due AS MATERIALIZED (SELECT id FROM {table} WHERE state = 'pending' AND lane = $1 \
             AND due_at <= $2 AND failed >= $5 ORDER BY due_at, id LIMIT $3{skip_locked}) \
             UPDATE {table} SET due_at = $4, lease = lease + 1 \
             WHERE state = 'pending' AND due_at <= $2 AND id IN (SELECT id FROM due) \
             RETURNING id, account, {own}, lane, failed, lease, created_at"
        ))
        .bind(lane)
        .bind(work.now.0)
        .bind(most.max(0))
        .bind(work.now.plus(DELIVERY_LEASE).0)
        .bind(sought.least_failed());
        let rows = query.all(&mut *work.conn).await?;
        for row in &rows {
            leased.push(read(row, of_endpoint)?);
        }
    }
    Ok(leased)
}

fn read(row: &AnyRow, of_endpoint: bool) -> StoreResult<Delivery> {
    let (attempt, kind, target) = match of_endpoint {
        true => (None, DeliveryKind::Event, row.text("endpoint")?),
        false => (
            Some(row.id("attempt")?),
            row.word("kind", DeliveryKind::parse)?,
            row.text("target")?,
        ),
    };
    Ok(Delivery {
        id: row.id("id")?,
        account: row.id("account")?,
        attempt,
        kind,
        target,
        lane: row.text("lane")?,
        failed: row.int("failed")?,
        lease: row.int("lease")?,
        created_at: row.time("created_at")?,
        reply: None,
    })
}

async fn renew(work: Work<'_>, held: Vec<(DeliveryId, i64)>) -> StoreResult<()> {
    let until = work.now.plus(DELIVERY_LEASE).0;
    for (id, lease) in held {
        for table in TABLES {
            let update = composed(format!(
                "UPDATE {table} SET due_at = $3 WHERE id = $1 AND lease = $2 AND state = 'pending'"
            ));
            let update = update.bind(id.to_string()).bind(lease).bind(until);
            if affected(update, &mut *work.conn).await? > 0 {
                break;
            }
        }
    }
    Ok(())
}

async fn of(work: Work<'_>, attempt: AttemptId) -> StoreResult<Vec<DeliveryRow>> {
    let query = sqlx::query(
        "SELECT id, kind, state, failed, due_at, last_error FROM deliveries WHERE attempt = $1 ORDER BY id",
    );
    let rows = query.bind(attempt.to_string()).all(work.conn).await?;
    let row = |row: &AnyRow| {
        Ok(DeliveryRow {
            id: row.id("id")?,
            kind: row.word("kind", DeliveryKind::parse)?,
            state: row.word("state", DeliveryState::parse)?,
            failed: row.int("failed")?,
            due_at: row.time("due_at")?,
            last_error: row.maybe_text("last_error")?,
        })
    };
    rows.iter().map(row).collect()
}

/// Ids follow the order of creation, so only the oldest rows are examined.
async fn forget(work: Work<'_>, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
    let delete = sqlx::query(
        "DELETE FROM deliveries WHERE id IN (SELECT id FROM \
         (SELECT id, state, created_at FROM deliveries ORDER BY id LIMIT $2) AS oldest \
         WHERE state <> 'pending' AND created_at < $1)",
    );
    let forgotten = affected(delete.bind(made_before.0).bind(limit.max(0)), work.conn).await?;
    Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
}

#[async_trait]
impl DeliveryStore for SqlStore {
    async fn due_lanes(&self, sought: Sought, limit: i64) -> StoreResult<Vec<DueLane>> {
        self.read(move |work| Box::pin(due_lanes(work, sought, limit))).await
    }

    async fn lease_deliveries(&self, sought: Sought, lanes: &[(String, i64)]) -> StoreResult<Vec<Delivery>> {
        let lanes = lanes.to_vec();
        self.write(move |work| Box::pin(lease(work, sought, lanes))).await
    }

    async fn renew_deliveries(&self, held: &[(DeliveryId, i64)]) -> StoreResult<()> {
        let held = held.to_vec();
        self.write(move |work| Box::pin(renew(work, held))).await
    }

    async fn settle_delivery(&self, delivery: &Delivery, settled: Settled) -> StoreResult<()> {
        let delivery = delivery.clone();
        self.write(move |work| Box::pin(settled::settle(work, delivery, settled)))
            .await
    }

    async fn deliveries_of(&self, attempt: AttemptId) -> StoreResult<Vec<DeliveryRow>> {
        self.read(move |work| Box::pin(of(work, attempt))).await
    }

    async fn forget_deliveries(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
        self.write(move |work| Box::pin(forget(work, made_before, limit))).await
    }

    async fn contact_of(&self, attempt: AttemptId) -> StoreResult<CampaignContact> {
        self.read(move |work| Box::pin(callee::contact_of(work, attempt))).await
    }
}
