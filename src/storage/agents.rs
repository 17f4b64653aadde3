//! Agents: the sparse document as JSON text, its name as a column of its own.

use actors::{
    id::{AccountId, AgentId},
    ports::store::{AgentRow, CREATED, KeyTicket, StoreError, StoreResult},
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use super::{
    Work, knowledge,
    rows::{Columns, to_json, unavailable},
};

fn name(document: &Map<String, Value>) -> String {
    let name = document.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn read(row: &AnyRow) -> StoreResult<AgentRow> {
    Ok(AgentRow {
        id: row.id("id")?,
        account: row.id("account")?,
        document: row.json("document")?,
        version: row.int("version")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

pub(super) async fn create(
    mut work: Work<'_>,
    account: AccountId,
    document: Map<String, Value>,
) -> StoreResult<AgentRow> {
    let id = AgentId::new();
    sqlx::query(
        "INSERT INTO agents (id, account, name, document, version, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, 1, $5, $5)",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(name(&document))
    .bind(to_json(&document)?)
    .bind(work.now.0)
    .execute(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    knowledge::hold(&mut work, (account, id), &document).await?;
    Ok(AgentRow {
        id,
        account,
        document,
        version: 1,
        created_at: work.now,
        updated_at: work.now,
    })
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
    let row = sqlx::query(
        "SELECT id, account, document, version, created_at, updated_at FROM agents \
         WHERE id = $1 AND account = $2 AND deleted_at IS NULL",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .fetch_optional(work.conn)
    .await
    .map_err(unavailable)?;
    read(&row.ok_or(StoreError::NotFound)?)
}

pub(super) async fn update(
    mut work: Work<'_>,
    key: (AccountId, AgentId),
    version: i64,
    document: Map<String, Value>,
) -> StoreResult<AgentRow> {
    let (account, id) = key;
    let row = sqlx::query(
        "UPDATE agents SET name = $1, document = $2, updated_at = $3, version = version + 1 \
         WHERE id = $4 AND account = $5 AND version = $6 AND deleted_at IS NULL \
         RETURNING id, account, document, version, created_at, updated_at",
    )
    .bind(name(&document))
    .bind(to_json(&document)?)
    .bind(work.now.0)
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(version)
    .fetch_optional(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    match row {
        Some(row) => {
            knowledge::hold(&mut work, key, &document).await?;
            read(&row)
        }
        None => get(work, account, id).await.and(Err(StoreError::Stale)),
    }
}
