//! Documents and their texts.

use domain::{
    id::{AccountId, DocumentId},
    ports::store::{
        CREATED, DocumentKind, DocumentRow, KeyTicket, KnowledgeFilter, NewDocument, Removal, StoreResult, name_order,
    },
};
use sqlx::any::AnyRow;

use super::{
    holding::{Held, held_by},
    listing::page,
};
use crate::{
    accounts::idempotency,
    engine::{
        Work, holders,
        rows::{Columns, Fetch, affected, composed, unavailable},
    },
};

/// Columns for [`read`], from the table `d`.
pub(super) const COLUMNS: &str = "id, account, kind, name, url, characters, created_at";

pub(super) fn read(row: &AnyRow) -> StoreResult<DocumentRow> {
    Ok(DocumentRow {
        id: row.id("id")?,
        account: row.id("account")?,
        kind: row.word("kind", DocumentKind::parse)?,
        name: row.text("name")?,
        url: row.maybe_text("url")?,
        characters: row.int("characters")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: NewDocument,
    ticket: Option<KeyTicket>,
) -> StoreResult<DocumentRow> {
    let row = DocumentRow {
        id: DocumentId::new(),
        account,
        kind: new.kind,
        name: new.name,
        url: new.url,
        characters: i64::try_from(new.text.chars().count()).unwrap_or(i64::MAX),
        created_at: work.now,
    };
    sqlx::query(
        "INSERT INTO documents (id, account, kind, name, name_folded, name_order, url, characters, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(row.id.to_string())
    .bind(account.to_string())
    .bind(row.kind.as_str())
    .bind(row.name.clone())
    .bind(row.name.to_lowercase())
    .bind(name_order(&row.name))
    .bind(row.url.clone())
    .bind(row.characters)
    .bind(row.created_at.0)
    .execute(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    sqlx::query("INSERT INTO document_texts (document, words) VALUES ($1, $2)")
        .bind(row.id.to_string())
        .bind(new.text)
        .execute(&mut *work.conn)
        .await
        .map_err(unavailable)?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &row.id.to_string()).await?;
    Ok(row)
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow> {
    let row = composed(format!(
        "SELECT {COLUMNS} FROM documents WHERE id = $1 AND account = $2"
    ))
    .bind(id.to_string())
    .bind(account.to_string())
    .existing(work.conn)
    .await?;
    read(&row)
}

pub(super) async fn text(work: Work<'_>, account: AccountId, id: DocumentId) -> StoreResult<String> {
    let row = sqlx::query(
        "SELECT t.words FROM document_texts t JOIN documents d ON d.id = t.document \
         WHERE d.id = $1 AND d.account = $2",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .existing(work.conn)
    .await?;
    row.text("words")
}

pub(super) async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: KnowledgeFilter,
    limit: i64,
) -> StoreResult<Vec<DocumentRow>> {
    let query = page(&format!("SELECT {COLUMNS} FROM documents"), account, &filter, limit)?;
    query.read_all(work.conn, read).await
}

pub(super) async fn delete(mut work: Work<'_>, account: AccountId, id: DocumentId) -> StoreResult<Removal> {
    get(work.again(), account, id).await?;
    let held = held_by(&mut work, Held::Document(id)).await?;
    if !held.is_empty() {
        return Ok(Removal::Held(held));
    }
    let texts = sqlx::query("DELETE FROM document_texts WHERE document = $1").bind(id.to_string());
    affected(texts, work.conn).await?;
    let row = sqlx::query("DELETE FROM documents WHERE id = $1 AND account = $2");
    let row = row.bind(id.to_string()).bind(account.to_string());
    holders::delete(row, work.conn).await
}
