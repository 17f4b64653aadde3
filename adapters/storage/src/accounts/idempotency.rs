//! Idempotency keys: reserved in a separate commit, settled in the commit that creates the resource.

use async_trait::async_trait;
use domain::{
    id::AccountId,
    ports::store::{IdempotencyStore, KEY_KEPT_US, KEY_LEASE_US, KeyTicket, Reservation, StoreError, StoreResult},
};
use uuid::Uuid;

use crate::engine::{
    SqlStore, Work,
    rows::{Columns, Fetch, affected, composed},
};

/// Expired keys that one reservation deletes; more than it adds, so that their number only falls.
const SWEPT: i64 = 4;

/// A requested reservation.
#[derive(Clone)]
struct Wanted {
    account: AccountId,
    key: String,
    operation: String,
    request_hash: String,
}

async fn reserve(mut work: Work<'_>, wanted: Wanted) -> StoreResult<Reservation> {
    let lease = Uuid::new_v4();
    // An expired key counts as free. This row is locked before any other, so two reservations never deadlock.
    let insert = sqlx::query(
        "INSERT INTO idempotency_keys (account, idempotency_key, operation, request_hash, lease, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account, idempotency_key) DO UPDATE SET \
         operation = excluded.operation, request_hash = excluded.request_hash, lease = excluded.lease, \
         expires_at = excluded.expires_at, status = NULL, resource = NULL \
         WHERE idempotency_keys.expires_at <= $7",
    )
    .bind(wanted.account.to_string())
    .bind(wanted.key.clone())
    .bind(wanted.operation.clone())
    .bind(wanted.request_hash.clone())
    .bind(lease.to_string())
    .bind(work.now.0 + KEY_LEASE_US)
    .bind(work.now.0);
    let fresh = affected(insert, work.conn).await? > 0;
    sweep(&mut work).await?;
    if fresh {
        return Ok(Reservation::Fresh(KeyTicket {
            account: wanted.account,
            key: wanted.key,
            lease,
        }));
    }
    held(work, &wanted).await
}

/// Returns the state of a key that is in use.
async fn held(work: Work<'_>, wanted: &Wanted) -> StoreResult<Reservation> {
    let row = sqlx::query(
        "SELECT operation, request_hash, status, resource FROM idempotency_keys \
         WHERE account = $1 AND idempotency_key = $2",
    )
    .bind(wanted.account.to_string())
    .bind(wanted.key.clone())
    .optional(work.conn)
    .await?;
    // The key was released just now: the client may try again.
    let Some(row) = row else {
        return Ok(Reservation::InProgress);
    };
    let same = row.text("operation")? == wanted.operation && row.text("request_hash")? == wanted.request_hash;
    if !same {
        return Ok(Reservation::OtherRequest);
    }
    match (row.maybe_int("status")?, row.maybe_text("resource")?) {
        (Some(status), Some(resource)) => Ok(Reservation::Replay { status, resource }),
        _ => Ok(Reservation::InProgress),
    }
}

async fn sweep(work: &mut Work<'_>) -> StoreResult<()> {
    let delete = composed(format!(
        "DELETE FROM idempotency_keys WHERE (account, idempotency_key) IN \
         (SELECT account, idempotency_key FROM idempotency_keys WHERE expires_at <= $1 \
          ORDER BY expires_at LIMIT $2{})",
        work.dialect.skip_locked
    ));
    affected(delete.bind(work.now.0).bind(SWEPT), work.conn).await.map(drop)
}

/// Stores the result of the request with this ticket, in the transaction that created the resource. Without a
/// ticket it does nothing.
pub(crate) async fn settle(
    work: &mut Work<'_>,
    ticket: Option<&KeyTicket>,
    status: i64,
    resource: &str,
) -> StoreResult<()> {
    let Some(ticket) = ticket else { return Ok(()) };
    let update = sqlx::query(
        "UPDATE idempotency_keys SET status = $1, resource = $2, expires_at = $3 \
         WHERE account = $4 AND idempotency_key = $5 AND lease = $6 AND resource IS NULL",
    )
    .bind(status)
    .bind(resource.to_owned())
    .bind(work.now.0 + KEY_KEPT_US)
    .bind(ticket.account.to_string())
    .bind(ticket.key.clone())
    .bind(ticket.lease.to_string());
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

async fn renew(work: Work<'_>, ticket: KeyTicket) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE idempotency_keys SET expires_at = $1 \
         WHERE account = $2 AND idempotency_key = $3 AND lease = $4 AND resource IS NULL",
    )
    .bind(work.now.0 + KEY_LEASE_US)
    .bind(ticket.account.to_string())
    .bind(ticket.key)
    .bind(ticket.lease.to_string());
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

async fn release(work: Work<'_>, ticket: KeyTicket) -> StoreResult<()> {
    let delete = sqlx::query(
        "DELETE FROM idempotency_keys \
         WHERE account = $1 AND idempotency_key = $2 AND lease = $3 AND resource IS NULL",
    )
    .bind(ticket.account.to_string())
    .bind(ticket.key)
    .bind(ticket.lease.to_string());
    affected(delete, work.conn).await.map(drop)
}

#[async_trait]
impl IdempotencyStore for SqlStore {
    async fn reserve_key(
        &self,
        account: AccountId,
        key: &str,
        operation: &str,
        request_hash: &str,
    ) -> StoreResult<Reservation> {
        let wanted = Wanted {
            account,
            key: key.to_owned(),
            operation: operation.to_owned(),
            request_hash: request_hash.to_owned(),
        };
        self.write(move |work| Box::pin(reserve(work, wanted))).await
    }

    async fn renew_key(&self, ticket: &KeyTicket) -> StoreResult<()> {
        let ticket = ticket.clone();
        self.write(move |work| Box::pin(renew(work, ticket))).await
    }

    async fn release_key(&self, ticket: &KeyTicket) -> StoreResult<()> {
        let ticket = ticket.clone();
        self.write(move |work| Box::pin(release(work, ticket))).await
    }
}
