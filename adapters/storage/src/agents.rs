//! Agents: the sparse document as JSON text, with the name in a separate column.

pub mod agent_holds;
pub mod agent_versions;
pub mod held_rows;
pub mod tools;
pub mod transfer_rules;

use domain::{
    id::{AccountId, AgentId},
    ports::store::{
        AGENT_PAGE_BYTES, AgentFilter, AgentPage, AgentRow, CREATED, KeyTicket, Removal, StoreError, StoreResult,
    },
};
use futures_util::TryStreamExt;
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use crate::{
    accounts::idempotency,
    engine::{
        Work,
        rows::{Columns, Conditions, Fetch, affected, composed, containing, to_json, unavailable},
    },
    knowledge,
};

/// Columns for [`read`].
const COLUMNS: &str = "id, account, document, version, created_at, updated_at";
const NOT_DELETED: &str = "AND deleted_at IS NULL";

pub(super) fn name(document: &Map<String, Value>) -> String {
    let name = document.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// Returns the pattern of `LIKE … ESCAPE '!'` for names that may contain a text in any case. A database folds letters
/// beyond ASCII in its own way or not at all, and i and k are also the lower case of such letters.
fn maybe_containing(text: &str) -> String {
    let mut pattern = containing(&text.to_lowercase());
    for letter in ["i", "k"] {
        pattern = pattern.replace(letter, "_");
    }
    pattern.replace(|c: char| !c.is_ascii(), "%")
}

pub(super) fn read(row: &AnyRow) -> StoreResult<AgentRow> {
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
    ticket: Option<KeyTicket>,
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
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    let row = AgentRow {
        id,
        account,
        document,
        version: 1,
        created_at: work.now,
        updated_at: work.now,
    };
    hold(&mut work, &row, &[]).await?;
    Ok(row)
}

/// Stores the references of a saved document, and keeps its version.
async fn hold(work: &mut Work<'_>, row: &AgentRow, changed: &[String]) -> StoreResult<()> {
    knowledge::hold(work, row).await?;
    agent_holds::hold(work, row).await?;
    tools::hold(work, row).await?;
    transfer_rules::hold(work, row).await?;
    agent_versions::keep(work, row, changed).await
}

pub(super) async fn get(work: Work<'_>, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
    find(work, Some(account), id, NOT_DELETED).await
}

/// Returns an agent even if it is deleted.
pub(super) async fn kept(work: Work<'_>, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
    find(work, Some(account), id, "").await
}

pub(super) async fn any(work: Work<'_>, id: AgentId) -> StoreResult<AgentRow> {
    find(work, None, id, NOT_DELETED).await
}

async fn find(
    work: Work<'_>,
    account: Option<AccountId>,
    id: AgentId,
    condition: &'static str,
) -> StoreResult<AgentRow> {
    let row = composed(format!(
        "SELECT {COLUMNS} FROM agents WHERE id = $1 AND ($2 IS NULL OR account = $2) {condition}"
    ))
    .bind(id.to_string())
    .bind(account.map(|account| account.to_string()))
    .existing(work.conn)
    .await?;
    read(&row)
}

/// Returns an agent as it was in a kept version. An agent of an unsaved test has no kept version; its row is returned.
pub(super) async fn in_version(work: Work<'_>, account: AccountId, id: AgentId, version: i64) -> StoreResult<AgentRow> {
    let row = sqlx::query(
        "SELECT g.id, g.account, v.document, v.version, g.created_at, v.saved_at AS updated_at \
         FROM agent_versions v JOIN agents g ON g.id = v.agent \
         WHERE g.id = $1 AND g.account = $2 AND g.deleted_at IS NULL AND v.version = $3 \
         UNION ALL SELECT g.id, g.account, g.document, g.version, g.created_at, g.updated_at FROM agents g \
         WHERE g.id = $1 AND g.account = $2 AND g.version = $3 \
         AND EXISTS (SELECT 1 FROM test_calls t WHERE t.agent = g.id)",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(version)
    .existing(work.conn)
    .await?;
    read(&row)
}

/// Skips rows that only look as if they had the tag or the name, and reads on until the page is full or no rows are
/// left.
pub(super) async fn list(
    work: Work<'_>,
    account: AccountId,
    mut filter: AgentFilter,
    limit: i64,
) -> StoreResult<AgentPage> {
    let most = usize::try_from(limit).unwrap_or(0);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        let query = wanted(account, &filter)?.query(
            &format!("SELECT {COLUMNS} FROM agents"),
            "ORDER BY created_at DESC, id DESC",
            limit.saturating_add(1),
        );
        let (mut seen, mut found) = (0, query.fetch(&mut *work.conn));
        while let Some(row) = found.try_next().await.map_err(unavailable)? {
            seen += 1;
            let length = row.text("document")?.len();
            let row = read(&row)?;
            filter.after = Some((row.created_at, row.id));
            if !row.fits(&filter) {
                continue;
            }
            if rows.len() == most || bytes > AGENT_PAGE_BYTES {
                return Ok(AgentPage { rows, more: true });
            }
            bytes += length;
            rows.push(row);
        }
        if seen <= most {
            return Ok(AgentPage { rows, more: false });
        }
    }
}

/// Builds the conditions of a list. They let some extra rows through: the tag may appear elsewhere in a document or, in
/// SQLite, in another case, and some letters of a name are not compared.
fn wanted(account: AccountId, filter: &AgentFilter) -> StoreResult<Conditions> {
    let mut wanted = Conditions::default();
    wanted.and("account = ? AND deleted_at IS NULL", [account.to_string().into()]);
    if let Some(tag) = &filter.tag {
        let written = containing(&to_json(tag)?);
        wanted.and("document LIKE ? ESCAPE '!'", [written.into()]);
    }
    if let Some(name) = &filter.name {
        wanted.and("LOWER(name) LIKE ? ESCAPE '!'", [maybe_containing(name).into()]);
    }
    if let Some((created_at, id)) = filter.after {
        let place = [created_at.0.into(), id.to_string().into()];
        wanted.and("(created_at, id) < (?, ?)", place);
    }
    Ok(wanted)
}

pub(super) async fn delete(mut work: Work<'_>, account: AccountId, id: AgentId) -> StoreResult<Removal> {
    // Lock the row first: a transaction that takes a reference to the agent either came before or finds it deleted.
    let lock = sqlx::query("UPDATE agents SET version = version WHERE id = $1 AND account = $2 AND deleted_at IS NULL");
    if affected(lock.bind(id.to_string()).bind(account.to_string()), work.conn).await? == 0 {
        return Err(StoreError::NotFound);
    }
    let holders = agent_holds::holders(&mut work, account, id).await?;
    if !holders.is_empty() {
        return Ok(Removal::Held(holders));
    }
    agent_holds::clear(&mut work, id).await?;
    agent_versions::clear(&mut work, id, i64::MAX).await?;
    let delete = sqlx::query("UPDATE agents SET deleted_at = $1 WHERE id = $2");
    affected(delete.bind(work.now.0).bind(id.to_string()), work.conn).await?;
    Ok(Removal::Done)
}

/// Saves the document of `new` as the version after its own.
pub(super) async fn update(mut work: Work<'_>, new: AgentRow, changed: Vec<String>) -> StoreResult<AgentRow> {
    let row = composed(format!(
        "UPDATE agents SET name = $1, document = $2, updated_at = $3, version = version + 1 \
         WHERE id = $4 AND account = $5 AND version = $6 {NOT_DELETED} RETURNING {COLUMNS}"
    ))
    .bind(name(&new.document))
    .bind(to_json(&new.document)?)
    .bind(work.now.0)
    .bind(new.id.to_string())
    .bind(new.account.to_string())
    .bind(new.version)
    .optional(&mut *work.conn)
    .await?;
    match row {
        Some(row) => {
            let row = read(&row)?;
            hold(&mut work, &row, &changed).await?;
            Ok(row)
        }
        None => get(work, new.account, new.id).await.and(Err(StoreError::Stale)),
    }
}
