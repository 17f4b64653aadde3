//! Events of accounts: written in the transaction of the change that they report, published and read in one order.

mod published;

pub(crate) use published::known_types;

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use domain::{
    id::{AccountEventId, AccountId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{
        AccountEvent, AccountEventStore, AccountEventType, CallDirection, CallForEvent, CampaignStatus,
        ConversationStatus, EventSignalling, EventSignals, StateChange, StoreResult,
    },
    time::Timestamp,
};
use serde_json::{Map, Value, json};
use sqlx::any::AnyRow;

use crate::{
    callee,
    engine::{
        SqlStore, Work,
        rows::{AnyQuery, Columns, Fetch, affected, composed},
    },
};

/// Returns the columns for `read` of an event `e` and its call `a`.
pub(crate) fn columns() -> String {
    format!(
        "e.id AS event_id, e.place, e.type AS event_type, e.campaign, e.agent, e.attempt, e.detail, \
         e.created_at AS happened_at, a.kind, a.status, a.duration_s, a.error, a.voicemail, a.transferred, {}, {}",
        callee::NAME,
        callee::FIELDS
    )
}

/// Returns the joins of the call of an event `e`.
pub(crate) fn call() -> String {
    format!("LEFT JOIN attempts a ON a.id = e.attempt {}", callee::JOINS)
}

/// Reads an event. Its call is over if it tells of the end, which does not change any more.
pub(crate) fn read(row: &AnyRow) -> StoreResult<AccountEvent> {
    let event_type = row.word("event_type", AccountEventType::parse)?;
    let mut detail: Map<String, Value> = row.json("detail")?;
    let of_call = event_type != AccountEventType::ContactOptedOut;
    if let Some(kind) = row.maybe_text("kind")?.filter(|_| of_call) {
        let facts = CallForEvent {
            direction: CallDirection::of_kind(&kind),
            callee: callee::read(row)?,
            status: row.word("status", ConversationStatus::parse)?,
            duration_s: row.int("duration_s")?,
            error: row.maybe_text("error")?,
            voicemail: row.flag("voicemail")?,
            transferred: row.flag("transferred")?,
        };
        detail.extend(facts.detail(event_type));
    }
    Ok(AccountEvent {
        id: row.id("event_id")?,
        place: row.maybe_int("place")?.unwrap_or(0),
        event_type,
        campaign: row.maybe_id("campaign")?,
        agent: row.maybe_id("agent")?,
        attempt: row.maybe_id("attempt")?,
        detail,
        created_at: row.time("happened_at")?,
    })
}

/// Runs the statement that stores an event.
async fn store(work: &mut Work<'_>, insert: AnyQuery<'_>) -> StoreResult<()> {
    let stored = affected(insert, &mut *work.conn).await?;
    if stored > 0 {
        work.has_events.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Stores an event of a call; does nothing for a test call, and if the call has one of this type already.
pub(crate) async fn of_call(work: &mut Work<'_>, call: AttemptId, event_type: AccountEventType) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO account_events (id, account, type, campaign, agent, attempt, detail, created_at) \
         SELECT $1, a.account, $2, a.campaign, a.agent, a.id, '{}', $3 FROM attempts a WHERE a.id = $4 \
         AND NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = a.id) ON CONFLICT DO NOTHING",
    )
    .bind(AccountEventId::new().to_string())
    .bind(event_type.as_str())
    .bind(work.now.0)
    .bind(call.to_string());
    store(work, insert).await
}

/// Stores that a campaign was created.
pub(crate) async fn of_new_campaign(work: &mut Work<'_>, id: CampaignId) -> StoreResult<()> {
    let draft = CampaignStatus::Draft;
    let insert = sqlx::query(
        "INSERT INTO account_events (id, account, type, campaign, agent, detail, created_at) \
         SELECT $1, c.account, $2, c.id, c.agent, $3, $4 FROM campaigns c WHERE c.id = $5",
    )
    .bind(AccountEventId::new().to_string())
    .bind(AccountEventType::of_campaign(draft).as_str())
    .bind(json!({ "status": draft.as_str() }).to_string())
    .bind(work.now.0)
    .bind(id.to_string());
    store(work, insert).await
}

/// Stores a campaign's change of status, if it is one. Runs before the guarded change: if that fails, this is
/// rolled back too.
pub(crate) async fn of_campaign(
    work: &mut Work<'_>,
    id: CampaignId,
    version: i64,
    change: &StateChange,
) -> StoreResult<()> {
    let mut now = json!({ "status": change.status.as_str() });
    if let Some(reason) = &change.reason {
        now["reason"] = json!(reason);
    }
    // Names of statuses need no escapes.
    let rest = format!("\",{}", now.to_string().trim_start_matches('{'));
    let insert = sqlx::query(
        "INSERT INTO account_events (id, account, type, campaign, agent, detail, created_at) \
         SELECT $1, c.account, $2, c.id, c.agent, '{\"previousStatus\":\"' || c.status || $3, $4 FROM campaigns c \
         WHERE c.id = $5 AND c.version = $6 AND c.status <> $7",
    )
    .bind(AccountEventId::new().to_string())
    .bind(AccountEventType::of_campaign(change.status).as_str())
    .bind(rest)
    .bind(work.now.0)
    .bind(id.to_string())
    .bind(version)
    .bind(change.status.as_str());
    store(work, insert).await
}

/// Stores that a number was added to the do-not-call list, with its saved contact and the call that asked for it.
pub(crate) async fn of_opt_out(
    work: &mut Work<'_>,
    account: AccountId,
    number: &PhoneNumber,
    by: Option<AttemptId>,
) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO account_events (id, account, type, campaign, agent, attempt, detail, created_at) \
         SELECT $1, o.id, $2, a.campaign, a.agent, a.id, COALESCE((SELECT '{\"contactId\":\"' || c.id || '\"}' \
         FROM contacts c WHERE c.account = o.id AND c.phone_number = $3), '{}'), $4 \
         FROM accounts o LEFT JOIN attempts a ON a.id = $5 AND a.account = o.id WHERE o.id = $6 \
         ON CONFLICT DO NOTHING",
    )
    .bind(AccountEventId::new().to_string())
    .bind(AccountEventType::ContactOptedOut.as_str())
    .bind(number.as_str().to_owned())
    .bind(work.now.0)
    .bind(by.map(|call| call.to_string()))
    .bind(account.to_string());
    store(work, insert).await
}

/// Deletes the events of a call and their deliveries. The events come first: then a publisher that has one of them
/// has stored its deliveries, and no later one finds it.
pub(crate) async fn erase(work: &mut Work<'_>, call: AttemptId) -> StoreResult<()> {
    let events = sqlx::query("DELETE FROM account_events WHERE attempt = $1 RETURNING id").bind(call.to_string());
    for event in events.all(&mut *work.conn).await? {
        let deliveries = sqlx::query("DELETE FROM webhook_deliveries WHERE event = $1").bind(event.text("id")?);
        affected(deliveries, &mut *work.conn).await?;
    }
    Ok(())
}

async fn last_place(work: Work<'_>, account: AccountId) -> StoreResult<i64> {
    let query = sqlx::query("SELECT COALESCE(MAX(place), 0) AS place FROM account_events WHERE account = $1");
    let row = query.bind(account.to_string()).one(work.conn).await?;
    row.int("place")
}

async fn after(work: Work<'_>, account: AccountId, place: i64, limit: i64) -> StoreResult<Vec<AccountEvent>> {
    let query = composed(format!(
        "SELECT {} FROM account_events e {} WHERE e.account = $1 AND e.place > $2 AND e.type IN ({}) \
         ORDER BY e.place LIMIT $3",
        columns(),
        call(),
        known_types()
    ));
    let query = query.bind(account.to_string()).bind(place).bind(limit.max(0));
    query.read_all(work.conn, read).await
}

/// Ids follow the order of creation, so only the oldest rows are examined.
async fn forget(work: Work<'_>, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
    const OLD: &str = "(SELECT id FROM (SELECT id, created_at FROM account_events ORDER BY id LIMIT $2) AS oldest \
         WHERE created_at < $1)";
    // Tests, and what an earlier version left of erased events.
    let without_event = "id IN (SELECT id FROM (SELECT id, event, created_at FROM webhook_deliveries ORDER BY id \
         LIMIT $2) AS oldest WHERE created_at < $1 AND NOT EXISTS \
         (SELECT 1 FROM account_events e WHERE e.id = oldest.event))";
    let mut forgotten = 0;
    for (table, condition) in [
        ("webhook_deliveries", format!("event IN {OLD}")),
        ("webhook_deliveries", without_event.to_owned()),
        ("account_events", format!("id IN {OLD}")),
    ] {
        let delete = composed(format!("DELETE FROM {table} WHERE {condition}"));
        forgotten += affected(delete.bind(made_before.0).bind(limit.max(0)), &mut *work.conn).await?;
    }
    Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
}

impl EventSignalling for SqlStore {
    fn event_signals(&self) -> Arc<EventSignals> {
        Arc::clone(&self.event_signals)
    }
}

#[async_trait]
impl AccountEventStore for SqlStore {
    async fn publish_events(&self, limit: i64) -> StoreResult<usize> {
        if !self.read(|work| Box::pin(published::is_any_new(work))).await? {
            return Ok(0);
        }
        let publish = self.write(move |work| Box::pin(published::publish(work, limit)));
        let published = publish.await?;
        for event in &published {
            self.event_signals.publish(event.account, event.place);
        }
        Ok(published.len())
    }

    async fn last_event_place(&self, account: AccountId) -> StoreResult<i64> {
        self.read(move |work| Box::pin(last_place(work, account))).await
    }

    async fn events_after(&self, account: AccountId, place: i64, limit: i64) -> StoreResult<Vec<AccountEvent>> {
        self.read(move |work| Box::pin(after(work, account, place, limit)))
            .await
    }

    async fn forget_events(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
        self.write(move |work| Box::pin(forget(work, made_before, limit))).await
    }
}
