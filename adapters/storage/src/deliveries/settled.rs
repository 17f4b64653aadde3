//! Stores the result of a delivery attempt and the resulting state of its lane.

use domain::{
    deliveries::DeliveryKind,
    ports::store::{Delivery, Settled, StoreError, StoreResult},
};

use super::table_of;
use crate::{
    Work,
    rows::{AnyQuery, affected, composed},
};

pub(super) async fn settle(mut work: Work<'_>, delivery: Delivery, settled: Settled) -> StoreResult<()> {
    match settled {
        Settled::Delivered => {
            leased(&mut work, &delivery, "state = 'done', last_error = NULL", |query| query).await?;
            works(&mut work, &delivery).await
        }
        Settled::PutOff { pause, lane_too, error } => {
            let due_at = work.now.plus(pause).0;
            // The lease ends here, so that a late renewal cannot move the next try.
            let update = "failed = failed + 1, lease = lease + 1, due_at = $3, last_error = $4";
            leased(&mut work, &delivery, update, |query| query.bind(due_at).bind(error)).await?;
            fails(&mut work, &delivery, if lane_too { due_at } else { 0 }).await
        }
        Settled::GivenUp { error } => {
            let update = "state = 'given_up', failed = failed + 1, last_error = $3";
            leased(&mut work, &delivery, update, |query| query.bind(error)).await?;
            fails(&mut work, &delivery, 0).await
        }
        Settled::Gone { error } => {
            leased(&mut work, &delivery, "failed = failed + 1", |query| query).await?;
            gone(&mut work, &delivery, error).await?;
            fails(&mut work, &delivery, 0).await
        }
    }
}

/// Runs an update with `assignments`, whose values start at `$3`. Returns `Fenced` if the lease is no longer held.
async fn leased<'q>(
    work: &mut Work<'_>,
    delivery: &Delivery,
    assignments: &str,
    bind: impl FnOnce(AnyQuery<'q>) -> AnyQuery<'q>,
) -> StoreResult<()> {
    let update = composed(format!(
        "UPDATE {} SET {assignments} WHERE id = $1 AND lease = $2 AND state = 'pending'",
        table_of(delivery.kind)
    ));
    let update = bind(update.bind(delivery.id.to_string()).bind(delivery.lease));
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

/// Writes only on a change, so that a busy lane's row is not written with each delivery.
async fn works(work: &mut Work<'_>, delivery: &Delivery) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE delivery_lanes SET proven = 1, failures = 0 WHERE lane = $1 AND (proven = 0 OR failures > 0)",
    );
    affected(update.bind(delivery.lane.clone()), work.conn).await.map(drop)
}

async fn fails(work: &mut Work<'_>, delivery: &Delivery, hold_until: i64) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE delivery_lanes SET failures = failures + 1, \
         hold_until = CASE WHEN hold_until < $2 THEN $2 ELSE hold_until END WHERE lane = $1",
    );
    let update = update.bind(delivery.lane.clone()).bind(hold_until);
    affected(update, work.conn).await.map(drop)
}

/// Gives up all deliveries to the URL, and remembers it. A webhook endpoint is disabled instead.
async fn gone(work: &mut Work<'_>, delivery: &Delivery, error: String) -> StoreResult<()> {
    if delivery.kind == DeliveryKind::Event {
        return disable(work, delivery, error).await;
    }
    let update = sqlx::query(
        "UPDATE deliveries SET state = 'given_up', last_error = $3 \
         WHERE state = 'pending' AND lane = $1 AND target = $2",
    );
    let update = update.bind(delivery.lane.clone()).bind(delivery.target.clone());
    affected(update.bind(error), work.conn).await?;
    let insert = sqlx::query(
        "INSERT INTO gone_webhooks (account, target, gone_at) VALUES ($1, $2, $3) \
         ON CONFLICT (account, target) DO UPDATE SET gone_at = $3",
    );
    let insert = insert.bind(delivery.account.to_string()).bind(delivery.target.clone());
    affected(insert.bind(work.now.0), work.conn).await.map(drop)
}

async fn disable(work: &mut Work<'_>, delivery: &Delivery, error: String) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE webhook_endpoints SET enabled = 0, version = version + 1, updated_at = $1 WHERE id = $2 AND enabled = 1",
    );
    let update = update.bind(work.now.0).bind(delivery.target.clone());
    affected(update, &mut *work.conn).await?;
    let update = sqlx::query(
        "UPDATE webhook_deliveries SET state = 'given_up', last_error = $2 WHERE state = 'pending' AND lane = $1",
    );
    affected(update.bind(delivery.lane.clone()).bind(error), &mut *work.conn)
        .await
        .map(drop)
}
