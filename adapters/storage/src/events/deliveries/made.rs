//! Creates the deliveries of a call in the transaction that ends it or saves its analysis.

use domain::{
    deliveries::{DeliveryKind, WantedDelivery, wanted},
    id::{AccountId, AttemptId, DeliveryId},
    ports::store::StoreResult,
    time::Timestamp,
};

use crate::engine::{
    Work,
    rows::{Columns, Fetch, affected},
};

/// Deliveries after calls.
pub(super) const AFTER_CALLS: &str = "deliveries";
/// Deliveries of events to webhook endpoints, in lanes of their own.
pub(super) const OF_ENDPOINTS: &str = "webhook_deliveries";
pub(super) const TABLES: [&str; 2] = [AFTER_CALLS, OF_ENDPOINTS];

/// Returns the table of a kind.
pub(super) fn table_of(kind: DeliveryKind) -> &'static str {
    match kind {
        DeliveryKind::Webhook | DeliveryKind::Email | DeliveryKind::Invitation => AFTER_CALLS,
        DeliveryKind::Event => OF_ENDPOINTS,
    }
}

/// Creates the deliveries that the agent of an ended call asks for now; none for a test call. Existing ones stay
/// unchanged.
pub(crate) async fn make(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<()> {
    // Most agents ask for nothing, and their documents may be long.
    let query = sqlx::query(
        "SELECT a.account, g.document, g.updated_at FROM attempts a JOIN agents g ON g.id = a.agent \
         WHERE a.id = $1 AND g.document LIKE '%\"postCall%' \
         AND NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = a.id)",
    );
    let row = query.bind(attempt.to_string()).optional(&mut *work.conn).await?;
    let Some(row) = row else {
        return Ok(());
    };
    let (account, saved_at) = (row.id::<AccountId>("account")?, row.time("updated_at")?);
    for wanted in wanted(account, &row.json("document")?) {
        let gone = wanted.kind == DeliveryKind::Webhook && is_gone(work, account, &wanted, saved_at).await?;
        if !gone {
            insert(work, account, attempt, wanted).await?;
        }
    }
    Ok(())
}

/// Returns whether the URL answered 410 since the agent was saved.
async fn is_gone(
    work: &mut Work<'_>,
    account: AccountId,
    wanted: &WantedDelivery,
    saved_at: Timestamp,
) -> StoreResult<bool> {
    let query = sqlx::query("SELECT gone_at FROM gone_webhooks WHERE account = $1 AND target = $2 AND gone_at >= $3")
        .bind(account.to_string())
        .bind(wanted.target.clone())
        .bind(saved_at.0);
    let row = query.optional(&mut *work.conn).await?;
    Ok(row.is_some())
}

/// Inserts a delivery; a webhook or an e-mail after a call is created only once.
pub(crate) async fn insert(
    work: &mut Work<'_>,
    account: AccountId,
    attempt: AttemptId,
    wanted: WantedDelivery,
) -> StoreResult<()> {
    let lane = sqlx::query(
        "INSERT INTO delivery_lanes (lane, proven, failures, hold_until) VALUES ($1, 0, 0, 0) \
         ON CONFLICT (lane) DO NOTHING",
    );
    affected(lane.bind(wanted.lane.clone()), work.conn).await?;
    let delivery = sqlx::query(
        "INSERT INTO deliveries (id, account, attempt, kind, target, lane, state, failed, due_at, lease, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', 0, $7, 0, $7) ON CONFLICT (attempt, kind) WHERE kind <> 'invitation' DO NOTHING",
    )
    .bind(DeliveryId::new().to_string())
    .bind(account.to_string())
    .bind(attempt.to_string())
    .bind(wanted.kind.as_str())
    .bind(wanted.target)
    .bind(wanted.lane)
    .bind(work.now.0);
    affected(delivery, work.conn).await.map(drop)
}
