//! Gives new events their places, and creates their deliveries to webhook endpoints.

use std::collections::BTreeSet;

use domain::{
    deliveries::endpoint_lane,
    id::{AccountId, DeliveryId, WebhookId},
    ports::store::{AccountEventType, StoreResult},
    time::Timestamp,
};

use sqlx::{any::AnyRow, query::Query};

use crate::{
    engine::{
        Work,
        rows::{Columns, Fetch, ROWS_PER_INSERT, affected, composed, insert_rows, places},
    },
    events::webhook_terms::Terms,
};

/// Returns the types that this version knows, for `IN`. A newer node beside it may write others.
pub(crate) fn known_types() -> String {
    AccountEventType::ALL
        .map(|known| format!("'{}'", known.as_str()))
        .join(",")
}

/// An event that got its place.
pub(super) struct Published {
    id: String,
    pub(super) account: AccountId,
    pub(super) place: i64,
    event_type: AccountEventType,
    created_at: Timestamp,
}

/// An endpoint that gets events.
struct Endpoint {
    id: WebhookId,
    account: AccountId,
    terms: Terms,
}

impl Endpoint {
    fn wants(&self, event: &Published) -> bool {
        self.account == event.account && self.terms.want(event.event_type, event.created_at)
    }
}

pub(super) async fn is_any_new(work: Work<'_>) -> StoreResult<bool> {
    let query = composed(format!(
        "SELECT id FROM account_events WHERE place IS NULL AND type IN ({}) LIMIT 1",
        known_types()
    ));
    let row = query.optional(work.conn).await?;
    Ok(row.is_some())
}

pub(super) async fn publish(mut work: Work<'_>, limit: i64) -> StoreResult<Vec<Published>> {
    let skip_locked = work.dialect.skip_locked;
    // The lock makes the next publisher read what this one wrote. If another publishes now, nothing is left to do.
    let lock = composed(format!("SELECT last FROM account_event_places{skip_locked}"));
    let Some(row) = lock.optional(&mut *work.conn).await? else {
        return Ok(Vec::new());
    };
    let last = row.int("last")?;
    let give = composed(format!(
        "WITH fresh (event, n) AS MATERIALIZED (SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM account_events \
         WHERE place IS NULL AND type IN ({}) ORDER BY id LIMIT $2) \
         UPDATE account_events SET place = $1 + n FROM fresh WHERE id = event \
         RETURNING id, account, type, created_at, place",
        known_types()
    ));
    let give = give.bind(last).bind(limit.max(0));
    let rows = give.all(&mut *work.conn).await?;
    let mut published = Vec::with_capacity(rows.len());
    // An event that is erased meanwhile leaves its place empty, so the last place is not `last` and their number.
    let mut reached = last;
    for row in &rows {
        let place = row.int("place")?;
        reached = reached.max(place);
        published.push(Published {
            id: row.text("id")?,
            account: row.id("account")?,
            place,
            event_type: row.word("type", AccountEventType::parse)?,
            created_at: row.time("created_at")?,
        });
    }
    // The database does not guarantee the order of RETURNING.
    published.sort_by(|a, b| a.id.cmp(&b.id));
    let update = sqlx::query("UPDATE account_event_places SET last = $1").bind(reached);
    affected(update, &mut *work.conn).await?;
    deliver(&mut work, &published).await?;
    Ok(published)
}

async fn deliver(work: &mut Work<'_>, published: &[Published]) -> StoreResult<()> {
    let accounts: BTreeSet<String> = published.iter().map(|event| event.account.to_string()).collect();
    let endpoints = endpoints_of(work, accounts).await?;
    let wanted: Vec<(&Published, &Endpoint)> = published
        .iter()
        .flat_map(|event| endpoints.iter().map(move |endpoint| (event, endpoint)))
        .filter(|(event, endpoint)| endpoint.wants(event))
        .collect();
    for chunk in wanted.chunks(ROWS_PER_INSERT) {
        let mut insert = insert_rows(
            "INSERT INTO webhook_deliveries (id, account, endpoint, event, type, lane, state, failed, due_at, lease, \
             created_at) VALUES",
            chunk.len(),
            11,
            "",
        );
        for (event, endpoint) in chunk {
            insert = insert
                .bind(DeliveryId::new().to_string())
                .bind(event.account.to_string())
                .bind(endpoint.id.to_string())
                .bind(event.id.clone())
                .bind(event.event_type.as_str())
                .bind(endpoint_lane(event.account, endpoint.id))
                .bind("pending")
                .bind(0_i64)
                .bind(work.now.0)
                .bind(0_i64)
                .bind(work.now.0);
        }
        affected(insert, &mut *work.conn).await?;
    }
    Ok(())
}

async fn endpoints_of(work: &mut Work<'_>, accounts: BTreeSet<String>) -> StoreResult<Vec<Endpoint>> {
    if accounts.is_empty() {
        return Ok(Vec::new());
    }
    let query = composed(format!(
        "SELECT id, account, types, terms, created_at FROM webhook_endpoints WHERE enabled = 1 AND account IN ({}) ORDER BY id",
        places(1, accounts.len())
    ));
    let query = accounts.into_iter().fold(query, Query::bind);
    let rows = query.all(&mut *work.conn).await?;
    let endpoint = |row: &AnyRow| {
        Ok(Endpoint {
            id: row.id("id")?,
            account: row.id("account")?,
            terms: Terms::read(row)?,
        })
    };
    rows.iter().map(endpoint).collect()
}
