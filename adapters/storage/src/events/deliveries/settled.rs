//! Stores the result of a delivery attempt and the resulting state of its lane.

use domain::{
    deliveries::DeliveryKind,
    ports::store::{Delivery, Settled, StoreError, StoreResult},
};

use super::made::table_of;
use crate::engine::{
    Work,
    rows::{AnyQuery, Fetch, affected, composed},
};

/// Deliveries given up in one transaction.
const PIECE: i64 = 500;

pub(super) async fn settle(mut work: Work<'_>, delivery: Delivery, settled: Settled) -> StoreResult<()> {
    if delivery.kind == DeliveryKind::Event {
        let reply = delivery.reply.clone();
        leased(&mut work, &delivery, "reply = $3", |query| query.bind(reply)).await?;
    }
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
        Settled::Gone { url, .. } if is_repaired(&mut work, &delivery, &url).await? => {
            let now = work.now.0;
            leased(&mut work, &delivery, "lease = lease + 1, due_at = $3", |query| {
                query.bind(now)
            })
            .await
        }
        Settled::Gone { error, .. } => {
            let update = "state = 'given_up', failed = failed + 1, last_error = $3";
            leased(&mut work, &delivery, update, |query| query.bind(error.clone())).await?;
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

/// Disables the webhook endpoint of a delivery, if it has one with this URL. Returns whether it has one that is
/// not disabled now, because it got another URL meanwhile.
async fn is_repaired(work: &mut Work<'_>, delivery: &Delivery, url: &str) -> StoreResult<bool> {
    if delivery.kind != DeliveryKind::Event {
        return Ok(false);
    }
    let update = sqlx::query(
        "UPDATE webhook_endpoints SET enabled = 0, version = version + 1, updated_at = $1 \
         WHERE id = $2 AND enabled = 1 AND url = $3",
    );
    let update = update
        .bind(work.now.0)
        .bind(delivery.target.clone())
        .bind(url.to_owned());
    affected(update, &mut *work.conn).await?;
    let query = sqlx::query("SELECT id FROM webhook_endpoints WHERE id = $1 AND enabled = 1");
    let row = query.bind(delivery.target.clone()).optional(&mut *work.conn).await?;
    Ok(row.is_some())
}

/// Gives up deliveries that wait in the lane of a webhook endpoint, at most a piece: other writes run between two.
/// Returns their number.
pub(crate) async fn give_up_some(work: &mut Work<'_>, lane: String, error: String) -> StoreResult<u64> {
    let skip_locked = work.dialect.skip_locked;
    let update = composed(format!(
        "UPDATE webhook_deliveries SET state = 'given_up', last_error = $1 WHERE state = 'pending' AND id IN \
         (SELECT id FROM webhook_deliveries WHERE lane = $2 AND state = 'pending' ORDER BY due_at, id \
         LIMIT $3{skip_locked})"
    ));
    affected(update.bind(error).bind(lane).bind(PIECE), &mut *work.conn).await
}

/// Gives up all deliveries to the URL, and remembers it. Those to a disabled webhook endpoint are given up as they
/// become due, as far as they are too many for now.
async fn gone(work: &mut Work<'_>, delivery: &Delivery, error: String) -> StoreResult<()> {
    if delivery.kind == DeliveryKind::Event {
        return give_up_some(work, delivery.lane.clone(), error).await.map(drop);
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
