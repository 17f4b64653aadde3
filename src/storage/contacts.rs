//! Saved contacts.

use actors::{
    id::{AccountId, ContactId},
    ports::store::{CREATED, ContactRow, KeyTicket, NewContact, StoreError, StoreResult},
};
use sqlx::any::AnyRow;

use super::{
    Work, idempotency,
    rows::{Columns, affected, to_json, unavailable, unique},
};

pub(super) async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: NewContact,
    ticket: Option<KeyTicket>,
) -> StoreResult<ContactRow> {
    let row = ContactRow {
        id: ContactId::new(),
        account,
        phone_number: new.phone_number,
        name: new.name,
        email: new.email,
        extra: new.extra,
        created_at: work.now,
    };
    sqlx::query(
        "INSERT INTO contacts (id, account, phone_number, name, email, extra, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(row.id.to_string())
    .bind(account.to_string())
    .bind(row.phone_number.as_str().to_owned())
    .bind(row.name.clone())
    .bind(row.email.clone())
    .bind(to_json(&row.extra)?)
    .bind(row.created_at.0)
    .execute(&mut *work.conn)
    .await
    .map_err(unique("phoneNumber"))?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &row.id.to_string()).await?;
    Ok(row)
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
    let row = sqlx::query(
        "SELECT id, phone_number, name, email, extra, created_at FROM contacts WHERE id = $1 AND account = $2",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .fetch_optional(work.conn)
    .await
    .map_err(unavailable)?;
    read(account, &row.ok_or(StoreError::NotFound)?)
}

/// Which of the values of a column are wanted.
pub(super) enum Wanted {
    Numbers(Vec<String>),
    Ids(Vec<String>),
}

/// The account's contacts with one of these values.
pub(super) async fn among(work: Work<'_>, account: AccountId, wanted: Wanted) -> StoreResult<Vec<ContactRow>> {
    let (column, values) = match wanted {
        Wanted::Numbers(values) => ("phone_number", values),
        Wanted::Ids(values) => ("id", values),
    };
    let mut found = Vec::new();
    for chunk in values.chunks(ROWS_PER_INSERT) {
        let places: Vec<String> = (2..chunk.len() + 2).map(|place| format!("${place}")).collect();
        let mut query = composed(format!(
            "SELECT id, phone_number, name, email, extra, created_at FROM contacts \
             WHERE account = $1 AND {column} IN ({})",
            places.join(",")
        ))
        .bind(account.to_string());
        for value in chunk {
            query = query.bind(value.clone());
        }
        let rows = query.fetch_all(&mut *work.conn).await.map_err(unavailable)?;
        for row in &rows {
            found.push(read(account, row)?);
        }
    }
    Ok(found)
}

fn read(account: AccountId, row: &AnyRow) -> StoreResult<ContactRow> {
    Ok(ContactRow {
        id: row.id("id")?,
        account,
        phone_number: row.number("phone_number")?,
        name: row.maybe_text("name")?,
        email: row.maybe_text("email")?,
        extra: row.json("extra")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) async fn delete(work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<()> {
    let delete = sqlx::query("DELETE FROM contacts WHERE id = $1 AND account = $2");
    let delete = delete.bind(id.to_string()).bind(account.to_string());
    match affected(delete, work.conn).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}
