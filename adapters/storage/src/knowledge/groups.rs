//! Groups of documents.

use std::collections::HashMap;

use domain::{
    id::{AccountId, DocumentId, GroupId},
    ports::store::{
        CREATED, DocumentRow, GroupEdit, GroupRow, KeyTicket, KnowledgeFilter, Removal, StoreError, StoreResult,
        name_order,
    },
};
use sqlx::any::AnyRow;

use super::{
    documents,
    holding::{Held, held_by},
    listing::page,
};
use crate::{
    accounts::idempotency,
    engine::{
        Work, holders,
        rows::{Columns, Fetch, affected, composed, places, unavailable},
    },
};

const SELECT: &str = "SELECT id, account, name, created_at FROM document_groups";

/// Reads a group without its documents.
fn read(row: &AnyRow) -> StoreResult<GroupRow> {
    Ok(GroupRow {
        id: row.id("id")?,
        account: row.id("account")?,
        name: row.text("name")?,
        documents: Vec::new(),
        created_at: row.time("created_at")?,
    })
}

pub(super) async fn create(
    mut work: Work<'_>,
    account: AccountId,
    name: String,
    documents: Vec<DocumentId>,
    ticket: Option<KeyTicket>,
) -> StoreResult<GroupRow> {
    let id = GroupId::new();
    sqlx::query(
        "INSERT INTO document_groups (id, account, name, name_folded, name_order, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(name.clone())
    .bind(name.to_lowercase())
    .bind(name_order(&name))
    .bind(work.now.0)
    .execute(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    put_documents(&mut work, account, id, &documents).await?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    get(work, account, id).await
}

/// Adds documents of the account to a group that has none.
async fn put_documents(
    work: &mut Work<'_>,
    account: AccountId,
    id: GroupId,
    documents: &[DocumentId],
) -> StoreResult<()> {
    for (place, document) in (0_i64..).zip(documents) {
        let put = sqlx::query(
            "INSERT INTO group_documents (document_group, place, document) \
             SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), id FROM documents WHERE id = $3 AND account = $4",
        )
        .bind(id.to_string())
        .bind(place)
        .bind(document.to_string())
        .bind(account.to_string());
        match affected(put, work.conn).await {
            Ok(0) | Err(StoreError::NotFound) => return Err(StoreError::Stale),
            Ok(_) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: GroupId) -> StoreResult<GroupRow> {
    let row = composed(format!("{SELECT} WHERE id = $1 AND account = $2"))
        .bind(id.to_string())
        .bind(account.to_string())
        .existing(&mut *work.conn)
        .await?;
    let mut groups = [read(&row)?];
    fill(work, &mut groups).await?;
    let [group] = groups;
    Ok(group)
}

pub(super) async fn list(
    work: Work<'_>,
    account: AccountId,
    filter: KnowledgeFilter,
    limit: i64,
) -> StoreResult<Vec<GroupRow>> {
    let query = page(SELECT, account, &filter, limit)?;
    let rows = query.all(&mut *work.conn).await?;
    let mut groups: Vec<GroupRow> = rows.iter().map(read).collect::<StoreResult<_>>()?;
    fill(work, &mut groups).await?;
    Ok(groups)
}

/// Reads the documents of all groups in one query.
async fn fill(work: Work<'_>, groups: &mut [GroupRow]) -> StoreResult<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let columns: Vec<String> = documents::COLUMNS.split(", ").map(|name| format!("d.{name}")).collect();
    let sql = format!(
        "SELECT g.document_group, {} FROM group_documents g JOIN documents d ON d.id = g.document \
         WHERE g.document_group IN ({}) ORDER BY g.document_group, g.place",
        columns.join(", "),
        places(1, groups.len())
    );
    let query = groups
        .iter()
        .fold(composed(sql), |query, group| query.bind(group.id.to_string()));
    let mut found: HashMap<GroupId, Vec<DocumentRow>> = HashMap::new();
    for row in query.all(work.conn).await? {
        let group = row.id("document_group")?;
        found.entry(group).or_default().push(documents::read(&row)?);
    }
    for group in groups {
        group.documents = found.remove(&group.id).unwrap_or_default();
    }
    Ok(())
}

pub(super) async fn update(
    mut work: Work<'_>,
    account: AccountId,
    id: GroupId,
    edit: GroupEdit,
) -> StoreResult<GroupRow> {
    // Update the row even if the name stays: of two concurrent updates the later one waits here.
    let update = sqlx::query(
        "UPDATE document_groups SET name = COALESCE($1, name), name_folded = COALESCE($2, name_folded), \
         name_order = COALESCE($3, name_order) WHERE id = $4 AND account = $5",
    )
    .bind(edit.name.clone())
    .bind(edit.name.as_ref().map(|name| name.to_lowercase()))
    .bind(edit.name.as_deref().map(name_order))
    .bind(id.to_string())
    .bind(account.to_string());
    if affected(update, work.conn).await? == 0 {
        return Err(StoreError::NotFound);
    }
    if let Some(documents) = &edit.documents {
        let clear = sqlx::query("DELETE FROM group_documents WHERE document_group = $1").bind(id.to_string());
        affected(clear, work.conn).await?;
        put_documents(&mut work, account, id, documents).await?;
    }
    get(work, account, id).await
}

pub(super) async fn delete(mut work: Work<'_>, account: AccountId, id: GroupId) -> StoreResult<Removal> {
    get(work.again(), account, id).await?;
    let held = held_by(&mut work, Held::Group(id)).await?;
    if !held.is_empty() {
        return Ok(Removal::Held(held));
    }
    let clear = sqlx::query("DELETE FROM group_documents WHERE document_group = $1").bind(id.to_string());
    affected(clear, work.conn).await?;
    let row = sqlx::query("DELETE FROM document_groups WHERE id = $1 AND account = $2");
    let row = row.bind(id.to_string()).bind(account.to_string());
    holders::delete(row, work.conn).await
}
