//! Saved contacts.

use actors::{
    id::{AccountId, ContactId},
    ports::store::{ContactRow, NewContact, StoreError, StoreResult},
};

use super::{
    Work,
    rows::{Columns, affected, to_json, unavailable, unique},
};

pub(super) async fn create(work: Work<'_>, account: AccountId, new: NewContact) -> StoreResult<ContactRow> {
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
    .execute(work.conn)
    .await
    .map_err(unique("phoneNumber"))?;
    Ok(row)
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
    let row =
        sqlx::query("SELECT phone_number, name, email, extra, created_at FROM contacts WHERE id = $1 AND account = $2")
            .bind(id.to_string())
            .bind(account.to_string())
            .fetch_optional(work.conn)
            .await
            .map_err(unavailable)?;
    let row = row.ok_or(StoreError::NotFound)?;
    Ok(ContactRow {
        id,
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
