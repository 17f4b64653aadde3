//! Rows of an account that its agents name: found, listed, and deleted while no agent holds them.

use domain::{
    id::{AccountId, AgentId},
    ports::store::{Holder, Removal, StoreError, StoreResult},
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::engine::{
    Work, holders,
    rows::{AnyQuery, Conditions, Fetch, affected, composed, places},
};

/// Ids in one statement.
const CHUNK: usize = 500;

/// A kind of row. Its table has `id`, `account` and `created_at`.
pub(crate) trait HeldRow: Sized {
    /// Table.
    const TABLE: &'static str;
    /// Columns for `read`.
    const COLUMNS: &'static str;
    /// Table of the agents that hold one, and its column of the row's id.
    const HELD_IN: (&'static str, &'static str);

    /// Reads a row.
    fn read(row: &AnyRow) -> StoreResult<Self>;
}

pub(crate) async fn get<R: HeldRow>(work: Work<'_>, account: AccountId, id: String) -> StoreResult<R> {
    let (table, columns) = (R::TABLE, R::COLUMNS);
    let row = composed(format!("SELECT {columns} FROM {table} WHERE id = $1 AND account = $2"))
        .bind(id)
        .bind(account.to_string())
        .existing(work.conn)
        .await?;
    R::read(&row)
}

/// Returns the row that an update returned. If it changed none, returns `NotFound` or `Stale`.
pub(crate) async fn updated<R: HeldRow>(
    work: Work<'_>,
    account: AccountId,
    id: String,
    row: Option<AnyRow>,
) -> StoreResult<R> {
    match row {
        Some(row) => R::read(&row),
        None => get::<R>(work, account, id).await.and(Err(StoreError::Stale)),
    }
}

pub(crate) async fn list<R: HeldRow>(
    work: Work<'_>,
    account: AccountId,
    after: Option<(Timestamp, String)>,
    limit: i64,
) -> StoreResult<Vec<R>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    if let Some((created_at, id)) = after {
        wanted.and("(created_at, id) < (?, ?)", [created_at.0.into(), id.into()]);
    }
    let head = format!("SELECT {} FROM {}", R::COLUMNS, R::TABLE);
    let query = wanted.query(&head, "ORDER BY created_at DESC, id DESC", limit);
    query.read_all(work.conn, R::read).await
}

/// Returns those rows of `ids` that are the account's.
pub(crate) async fn known<R: HeldRow>(work: &mut Work<'_>, account: AccountId, ids: &[String]) -> StoreResult<Vec<R>> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT {} FROM {} WHERE account = $1 AND id IN ({})",
            R::COLUMNS,
            R::TABLE,
            places(2, chunk.len())
        );
        let query = composed(sql).bind(account.to_string());
        let query: AnyQuery<'_> = chunk.iter().fold(query, |query, id| query.bind(id.clone()));
        for row in query.all(&mut *work.conn).await? {
            found.push(R::read(&row)?);
        }
    }
    Ok(found)
}

/// Deletes a row that no agent holds.
pub(crate) async fn delete<R: HeldRow>(mut work: Work<'_>, account: AccountId, id: String) -> StoreResult<Removal> {
    get::<R>(work.again(), account, id.clone()).await?;
    let held = held_by::<R>(&mut work, &id).await?;
    if !held.is_empty() {
        return Ok(Removal::Held(held));
    }
    let row = composed(format!("DELETE FROM {} WHERE id = $1 AND account = $2", R::TABLE));
    holders::delete(row.bind(id).bind(account.to_string()), work.conn).await
}

async fn held_by<R: HeldRow>(work: &mut Work<'_>, id: &str) -> StoreResult<Vec<Holder>> {
    let (table, column) = R::HELD_IN;
    let agents = composed(format!(
        "SELECT a.id, a.name FROM {table} h JOIN agents a ON a.id = h.agent WHERE h.{column} = $1 ORDER BY a.id LIMIT $2"
    ));
    holders::holders("agent", agents.bind(id.to_owned()), work.conn).await
}

/// Stores that an agent holds a row. Returns `Stale` if the row was deleted since it was read.
pub(crate) async fn hold<R: HeldRow>(work: &mut Work<'_>, agent: AgentId, id: String) -> StoreResult<()> {
    let (table, column) = R::HELD_IN;
    let insert = composed(format!("INSERT INTO {table} (agent, {column}) VALUES ($1, $2)"));
    let held = affected(insert.bind(agent.to_string()).bind(id), work.conn).await;
    held.map(drop).map_err(|error| match error {
        StoreError::NotFound => StoreError::Stale,
        other => other,
    })
}
