//! Saved contacts.

pub mod do_not_call;

use std::collections::BTreeMap;

use domain::{
    analysis,
    id::{AccountId, AttemptId, ContactId},
    ports::store::{CREATED, ContactFilter, ContactRow, KeyTicket, NewContact, StoreError, StoreResult},
};
use serde_json::Value;
use sqlx::any::AnyRow;

use crate::{
    accounts::idempotency,
    engine::{
        Work,
        rows::{
            Columns, Conditions, Fetch, ROWS_PER_INSERT, affected, composed, containing, found, places, to_json, unique,
        },
    },
};

/// Columns for [`read`].
const COLUMNS: &str = "id, phone_number, name, email, extra, version, created_at";

/// Most tries to change a contact that others change at the same time.
const MOST_TRIES: usize = 3;

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
        version: 1,
        created_at: work.now,
    };
    sqlx::query(
        "INSERT INTO contacts (id, account, phone_number, name, email, extra, created_at, name_folded, version) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)",
    )
    .bind(row.id.to_string())
    .bind(account.to_string())
    .bind(row.phone_number.as_str().to_owned())
    .bind(row.name.clone())
    .bind(row.email.clone())
    .bind(to_json(&row.extra)?)
    .bind(row.created_at.0)
    .bind(folded(row.name.as_deref()))
    .execute(&mut *work.conn)
    .await
    .map_err(unique("phoneNumber"))?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &row.id.to_string()).await?;
    Ok(row)
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
    let row = composed(format!("SELECT {COLUMNS} FROM contacts WHERE id = $1 AND account = $2"))
        .bind(id.to_string())
        .bind(account.to_string())
        .existing(work.conn)
        .await?;
    read(account, &row)
}

/// Values of a column to look for.
pub(super) enum Wanted {
    Numbers(Vec<String>),
    Ids(Vec<String>),
}

/// Returns the account's contacts with one of these values.
pub(super) async fn among(work: Work<'_>, account: AccountId, wanted: Wanted) -> StoreResult<Vec<ContactRow>> {
    let (column, values) = match wanted {
        Wanted::Numbers(values) => ("phone_number", values),
        Wanted::Ids(values) => ("id", values),
    };
    let mut found = Vec::new();
    for chunk in values.chunks(ROWS_PER_INSERT) {
        let mut query = composed(format!(
            "SELECT {COLUMNS} FROM contacts WHERE account = $1 AND {column} IN ({})",
            places(2, chunk.len())
        ))
        .bind(account.to_string());
        for value in chunk {
            query = query.bind(value.clone());
        }
        let rows = query.all(&mut *work.conn).await?;
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
        version: row.int("version")?,
        created_at: row.time("created_at")?,
    })
}

/// Returns a name in the form that the search compares.
fn folded(name: Option<&str>) -> Option<String> {
    name.map(str::to_lowercase)
}

pub(super) async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: ContactFilter,
    limit: i64,
) -> StoreResult<Vec<ContactRow>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    let name = filter.name.map(|name| containing(&name.to_lowercase()));
    let number = filter.number.map(|number| containing(&number));
    match (name, number) {
        (Some(name), Some(number)) => wanted.and(
            "(name_folded LIKE ? ESCAPE '!' OR phone_number LIKE ? ESCAPE '!')",
            [name.into(), number.into()],
        ),
        (Some(name), None) => wanted.and("name_folded LIKE ? ESCAPE '!'", [name.into()]),
        (None, Some(number)) => wanted.and("phone_number LIKE ? ESCAPE '!'", [number.into()]),
        (None, None) => {}
    }
    if let Some((created_at, id)) = filter.after {
        let place = [created_at.0.into(), id.to_string().into()];
        wanted.and("(created_at, id) < (?, ?)", place);
    }
    let head = format!("SELECT {COLUMNS} FROM contacts");
    let query = wanted.query(&head, "ORDER BY created_at DESC, id DESC", limit);
    let rows = query.all(work.conn).await?;
    rows.iter().map(|row| read(account, row)).collect()
}

pub(super) async fn update(
    work: Work<'_>,
    account: AccountId,
    id: ContactId,
    version: i64,
    new: NewContact,
) -> StoreResult<ContactRow> {
    let row = composed(format!(
        "UPDATE contacts SET phone_number = $1, name = $2, name_folded = $3, email = $4, extra = $5, \
         version = version + 1 WHERE id = $6 AND account = $7 AND version = $8 RETURNING {COLUMNS}"
    ))
    .bind(String::from(new.phone_number))
    .bind(new.name.clone())
    .bind(folded(new.name.as_deref()))
    .bind(new.email)
    .bind(to_json(&new.extra)?)
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(version)
    .fetch_optional(&mut *work.conn)
    .await
    .map_err(unique("phoneNumber"))?;
    match row {
        Some(row) => read(account, &row),
        None => get(work, account, id).await.and(Err(StoreError::Stale)),
    }
}

/// Writes values to the saved contact of an attempt's number, if there is one.
pub(super) async fn keep(work: &mut Work<'_>, attempt: AttemptId, values: &BTreeMap<String, Value>) -> StoreResult<()> {
    // If somebody changes the contact between the two statements, it is read again.
    for _ in 0..MOST_TRIES {
        let row = sqlx::query(
            "SELECT c.account, c.id, c.phone_number, c.name, c.email, c.extra, c.version, c.created_at FROM attempts a \
             JOIN contacts c ON c.account = a.account AND c.phone_number = a.phone_number WHERE a.id = $1",
        )
        .bind(attempt.to_string())
        .optional(&mut *work.conn)
        .await?;
        let Some(row) = row else { return Ok(()) };
        let mut contact = read(row.id("account")?, &row)?;
        if !analysis::keep(&mut contact, values) {
            return Ok(());
        }
        let update = sqlx::query(
            "UPDATE contacts SET name = $1, name_folded = $2, email = $3, extra = $4, version = version + 1 \
             WHERE id = $5 AND version = $6",
        )
        .bind(contact.name.clone())
        .bind(folded(contact.name.as_deref()))
        .bind(contact.email)
        .bind(to_json(&contact.extra)?)
        .bind(contact.id.to_string())
        .bind(contact.version);
        if affected(update, &mut *work.conn).await? > 0 {
            return Ok(());
        }
    }
    Err(StoreError::Stale)
}

pub(super) async fn delete(work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<()> {
    let delete = sqlx::query("DELETE FROM contacts WHERE id = $1 AND account = $2");
    let delete = delete.bind(id.to_string()).bind(account.to_string());
    found(affected(delete, work.conn).await?)
}
