//! Webhook endpoints and the deliveries of events to them.

use async_trait::async_trait;
use domain::{
    deliveries::endpoint_lane,
    id::{AccountId, DeliveryId, WebhookId},
    ports::store::{
        AccountEvent, CREATED, DISABLED, DeliveryState, KeyTicket, MAX_WEBHOOKS, RECENT_DELIVERIES, RecentDeliveries,
        SECRET_KEPT_US, StoreError, StoreResult, WEBHOOK_TEST, WebhookDelivery, WebhookEndpoint, WebhookMessage,
        WebhookRow, WebhookSecrets, WebhookStore,
    },
    time::Timestamp,
};
use sqlx::any::AnyRow;

use super::{account_events, deliveries, webhook_terms};
use crate::{
    accounts::idempotency,
    engine::{
        SqlStore, Work,
        rows::{Columns, Conditions, Fetch, affected, composed, found, to_json},
    },
};

const COLUMNS: &str = "id, account, url, description, types, enabled, version, created_at, updated_at";

/// Deliveries deleted in one transaction; other writes run in between.
const PIECE: i64 = 500;

fn read(row: &AnyRow) -> StoreResult<WebhookRow> {
    Ok(WebhookRow {
        id: row.id("id")?,
        account: row.id("account")?,
        endpoint: WebhookEndpoint {
            url: row.text("url")?,
            description: row.text("description")?,
            types: row.json("types")?,
            enabled: row.flag("enabled")?,
        },
        version: row.int("version")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

async fn get(work: &mut Work<'_>, account: AccountId, id: WebhookId) -> StoreResult<WebhookRow> {
    let query = composed(format!(
        "SELECT {COLUMNS} FROM webhook_endpoints WHERE id = $1 AND account = $2"
    ));
    let query = query.bind(id.to_string()).bind(account.to_string());
    let row = query.existing(&mut *work.conn).await?;
    read(&row)
}

async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: WebhookEndpoint,
    secret: String,
    ticket: Option<KeyTicket>,
) -> StoreResult<Option<WebhookRow>> {
    let id = WebhookId::new();
    let insert = sqlx::query(
        "INSERT INTO webhook_endpoints (id, account, url, description, types, enabled, secret, version, created_at, \
         updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8)",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(new.url.clone())
    .bind(new.description.clone())
    .bind(to_json(&new.types)?)
    .bind(i64::from(new.enabled))
    .bind(secret)
    .bind(work.now.0);
    let count = sqlx::query("SELECT COUNT(*) AS endpoints FROM webhook_endpoints WHERE account = $1");
    let count = count.bind(account.to_string()).one(&mut *work.conn).await?;
    if usize::try_from(count.int("endpoints")?).is_ok_and(|count| count >= MAX_WEBHOOKS) {
        return Ok(None);
    }
    affected(insert, &mut *work.conn).await?;
    let lane = sqlx::query("INSERT INTO delivery_lanes (lane, proven, failures, hold_until) VALUES ($1, 0, 0, 0)");
    affected(lane.bind(endpoint_lane(account, id)), &mut *work.conn).await?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    get(&mut work, account, id).await.map(Some)
}

async fn list(
    work: Work<'_>,
    account: AccountId,
    after: Option<(Timestamp, WebhookId)>,
    limit: i64,
) -> StoreResult<Vec<WebhookRow>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    if let Some((created_at, id)) = after {
        wanted.and(
            "(created_at, id) < (?, ?)",
            [created_at.0.into(), id.to_string().into()],
        );
    }
    let head = format!("SELECT {COLUMNS} FROM webhook_endpoints");
    let query = wanted.query(&head, "ORDER BY created_at DESC, id DESC", limit);
    query.read_all(work.conn, read).await
}

async fn update(
    mut work: Work<'_>,
    account: AccountId,
    id: WebhookId,
    version: i64,
    new: WebhookEndpoint,
) -> StoreResult<WebhookRow> {
    let before = get(&mut work, account, id).await?.endpoint;
    let terms = webhook_terms::changed(&mut work, id, &before, &new).await?;
    let update = sqlx::query(
        "UPDATE webhook_endpoints SET url = $1, description = $2, types = $3, enabled = $4, updated_at = $5, \
         terms = COALESCE($9, terms), version = version + 1 WHERE id = $6 AND account = $7 AND version = $8",
    )
    .bind(new.url)
    .bind(new.description)
    .bind(to_json(&new.types)?)
    .bind(i64::from(new.enabled))
    .bind(work.now.0)
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(version)
    .bind(terms);
    let updated = affected(update, &mut *work.conn).await?;
    let row = get(&mut work, account, id).await?;
    if updated == 0 {
        return Err(StoreError::Stale);
    }
    let moved = row.endpoint.url != before.url;
    if moved || row.endpoint.enabled != before.enabled {
        release(&mut work, endpoint_lane(account, id), moved).await?;
    }
    Ok(row)
}

/// Ends the pause of a lane and forgets its failures. At a new address, nothing has arrived yet either.
async fn release(work: &mut Work<'_>, lane: String, moved: bool) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE delivery_lanes SET hold_until = 0, failures = 0, proven = CASE WHEN $1 = 1 THEN 0 ELSE proven END \
         WHERE lane = $2",
    );
    affected(update.bind(i64::from(moved)).bind(lane), &mut *work.conn)
        .await
        .map(drop)
}

async fn rotate(work: Work<'_>, account: AccountId, id: WebhookId, secret: String) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE webhook_endpoints SET previous_secret = secret, previous_secret_until = $1, secret = $2 \
         WHERE id = $3 AND account = $4",
    )
    .bind(work.now.0 + SECRET_KEPT_US)
    .bind(secret)
    .bind(id.to_string())
    .bind(account.to_string());
    found(affected(update, work.conn).await?)
}

async fn delete(work: Work<'_>, account: AccountId, id: WebhookId) -> StoreResult<()> {
    let delete = sqlx::query("DELETE FROM webhook_endpoints WHERE id = $1 AND account = $2");
    found(affected(delete.bind(id.to_string()).bind(account.to_string()), work.conn).await?)
}

async fn delete_some(work: Work<'_>, id: WebhookId) -> StoreResult<u64> {
    let delete = sqlx::query(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE endpoint = $1 LIMIT $2)",
    );
    affected(delete.bind(id.to_string()).bind(PIECE), work.conn).await
}

async fn give_up_some(mut work: Work<'_>, lane: String) -> StoreResult<u64> {
    deliveries::give_up_some(&mut work, lane, DISABLED.to_owned()).await
}

async fn recent(work: Work<'_>, id: WebhookId) -> StoreResult<RecentDeliveries> {
    let query = sqlx::query(
        "SELECT state, COUNT(*) AS deliveries FROM \
         (SELECT state FROM webhook_deliveries WHERE endpoint = $1 ORDER BY id DESC LIMIT $2) AS latest GROUP BY state",
    );
    let rows = query
        .bind(id.to_string())
        .bind(RECENT_DELIVERIES)
        .all(work.conn)
        .await?;
    let mut recent = RecentDeliveries::default();
    for row in rows {
        let count = row.int("deliveries")?;
        match row.word("state", DeliveryState::parse)? {
            DeliveryState::Done => recent.succeeded = count,
            DeliveryState::GivenUp => recent.failed = count,
            DeliveryState::Pending => recent.pending = count,
        }
    }
    Ok(recent)
}

/// Builds the head of a query of deliveries `d` for `read_delivery`.
fn with_events() -> String {
    format!(
        "SELECT d.id, d.event, d.state, d.failed, d.due_at, d.last_error, d.reply, d.created_at, {} \
         FROM webhook_deliveries d LEFT JOIN account_events e ON e.id = d.event {}",
        account_events::columns(),
        account_events::call()
    )
}

/// Reads the event of a delivery; a test has none.
fn read_event(row: &AnyRow) -> StoreResult<Option<AccountEvent>> {
    let id = row.maybe_text("event_id")?;
    id.map(|_| account_events::read(row)).transpose()
}

fn read_delivery(row: &AnyRow) -> StoreResult<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: row.id("id")?,
        event: read_event(row)?,
        state: row.word("state", DeliveryState::parse)?,
        failed: row.int("failed")?,
        due_at: row.time("due_at")?,
        last_error: row.maybe_text("last_error")?,
        reply: row.maybe_text("reply")?,
        created_at: row.time("created_at")?,
    })
}

async fn list_deliveries(
    work: Work<'_>,
    id: WebhookId,
    after: Option<DeliveryId>,
    limit: i64,
) -> StoreResult<Vec<WebhookDelivery>> {
    let mut wanted = Conditions::default();
    wanted.and("d.endpoint = ?", [id.to_string().into()]);
    // A newer node beside this one may have stored types that this version does not know.
    let known = format!("(d.event IS NULL OR e.type IN ({}))", account_events::known_types());
    wanted.and(&known, []);
    if let Some(after) = after {
        wanted.and("d.id < ?", [after.to_string().into()]);
    }
    let query = wanted.query(&with_events(), "ORDER BY d.id DESC", limit);
    query.read_all(work.conn, read_delivery).await
}

async fn delivery(work: &mut Work<'_>, id: DeliveryId) -> StoreResult<WebhookDelivery> {
    let query = composed(format!("{} WHERE d.id = $1", with_events())).bind(id.to_string());
    let row = query.existing(&mut *work.conn).await?;
    read_delivery(&row)
}

async fn resend(mut work: Work<'_>, id: WebhookId, again: DeliveryId) -> StoreResult<WebhookDelivery> {
    // A try in progress loses its lease, so that its result does not count for this one.
    let update = sqlx::query(
        "UPDATE webhook_deliveries SET state = 'pending', failed = 0, lease = lease + 1, due_at = $1, last_error = NULL, \
         reply = NULL \
         WHERE id = $2 AND endpoint = $3 RETURNING lane",
    );
    let update = update.bind(work.now.0).bind(again.to_string()).bind(id.to_string());
    let row = update.existing(&mut *work.conn).await?;
    let lane = row.text("lane")?;
    release(&mut work, lane, false).await?;
    delivery(&mut work, again).await
}

async fn test(mut work: Work<'_>, account: AccountId, id: WebhookId) -> StoreResult<WebhookDelivery> {
    let made = DeliveryId::new();
    let insert = sqlx::query(
        "INSERT INTO webhook_deliveries (id, account, endpoint, type, lane, state, failed, due_at, lease, created_at) \
         SELECT $1, w.account, w.id, $2, $3, 'pending', 0, $4, 0, $4 FROM webhook_endpoints w \
         WHERE w.id = $5 AND w.account = $6",
    )
    .bind(made.to_string())
    .bind(WEBHOOK_TEST)
    .bind(endpoint_lane(account, id))
    .bind(work.now.0)
    .bind(id.to_string())
    .bind(account.to_string());
    found(affected(insert, &mut *work.conn).await?)?;
    release(&mut work, endpoint_lane(account, id), false).await?;
    delivery(&mut work, made).await
}

async fn message(work: Work<'_>, id: DeliveryId) -> StoreResult<WebhookMessage> {
    let query = composed(format!(
        "SELECT w.url, w.secret, CASE WHEN w.previous_secret_until > $1 THEN w.previous_secret END AS previous, {} \
         FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint AND w.enabled = 1 \
         LEFT JOIN account_events e ON e.id = d.event {} WHERE d.id = $2 AND (d.event IS NULL OR e.id IS NOT NULL)",
        account_events::columns(),
        account_events::call()
    ));
    let query = query.bind(work.now.0).bind(id.to_string());
    let row = query.existing(work.conn).await?;
    Ok(WebhookMessage {
        url: row.text("url")?,
        secrets: WebhookSecrets {
            current: row.text("secret")?,
            previous: row.maybe_text("previous")?,
        },
        event: read_event(&row)?,
    })
}

#[async_trait]
impl WebhookStore for SqlStore {
    async fn create_webhook(
        &self,
        account: AccountId,
        new: WebhookEndpoint,
        secret: String,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<Option<WebhookRow>> {
        let ticket = ticket.cloned();
        self.change(account, move |work| {
            Box::pin(create(work, account, new, secret, ticket))
        })
        .await
    }

    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookRow> {
        self.read(move |mut work| Box::pin(async move { get(&mut work, account, id).await }))
            .await
    }

    async fn webhooks(
        &self,
        account: AccountId,
        after: Option<(Timestamp, WebhookId)>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookRow>> {
        self.read(move |work| Box::pin(list(work, account, after, limit))).await
    }

    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        version: i64,
        new: WebhookEndpoint,
    ) -> StoreResult<WebhookRow> {
        let row = self
            .change(account, move |work| Box::pin(update(work, account, id, version, new)))
            .await?;
        if !row.endpoint.enabled {
            let lane = endpoint_lane(account, id);
            let some = || {
                let lane = lane.clone();
                self.write(move |work| Box::pin(give_up_some(work, lane.clone())))
            };
            while some().await? > 0 {}
        }
        Ok(row)
    }

    async fn rotate_secret(&self, account: AccountId, id: WebhookId, secret: String) -> StoreResult<()> {
        self.change(account, move |work| Box::pin(rotate(work, account, id, secret)))
            .await
    }

    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<()> {
        self.change(account, move |work| Box::pin(delete(work, account, id)))
            .await?;
        let some = || self.write(move |work| Box::pin(delete_some(work, id)));
        while some().await? > 0 {}
        Ok(())
    }

    async fn recent_deliveries(&self, id: WebhookId) -> StoreResult<RecentDeliveries> {
        self.read(move |work| Box::pin(recent(work, id))).await
    }

    async fn webhook_deliveries(
        &self,
        id: WebhookId,
        after: Option<DeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDelivery>> {
        self.read(move |work| Box::pin(list_deliveries(work, id, after, limit)))
            .await
    }

    async fn resend_delivery(&self, id: WebhookId, delivery: DeliveryId) -> StoreResult<WebhookDelivery> {
        self.write(move |work| Box::pin(resend(work, id, delivery))).await
    }

    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookDelivery> {
        self.write(move |work| Box::pin(test(work, account, id))).await
    }

    async fn webhook_message(&self, delivery: DeliveryId) -> StoreResult<WebhookMessage> {
        self.read(move |work| Box::pin(message(work, delivery))).await
    }
}
