//! Kept versions of agents.

use domain::{
    id::{AccountId, AgentId},
    ports::store::{AGENT_VERSIONS_KEPT, AgentRow, AgentVersion, StoreResult},
};
use sqlx::any::AnyRow;

use crate::engine::{
    Work,
    rows::{Columns, Conditions, Fetch, affected, to_json},
};

/// Keeps the version of an agent that was just saved, and drops the ones that are too many.
pub(crate) async fn keep(work: &mut Work<'_>, row: &AgentRow, changed: &[String]) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO agent_versions (agent, version, document, changed, saved_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(row.id.to_string())
    .bind(row.version)
    .bind(to_json(&row.document)?)
    .bind(to_json(&changed)?)
    .bind(row.updated_at.0);
    affected(insert, work.conn).await?;
    clear(work, row.id, row.version - AGENT_VERSIONS_KEPT).await
}

/// Removes the versions of an agent up to `version`.
pub(crate) async fn clear(work: &mut Work<'_>, agent: AgentId, version: i64) -> StoreResult<()> {
    let delete = sqlx::query("DELETE FROM agent_versions WHERE agent = $1 AND version <= $2");
    affected(delete.bind(agent.to_string()).bind(version), work.conn)
        .await
        .map(drop)
}

pub(crate) async fn list(
    work: Work<'_>,
    account: AccountId,
    agent: AgentId,
    before: Option<i64>,
    limit: i64,
) -> StoreResult<Vec<AgentVersion>> {
    let known = sqlx::query("SELECT id FROM agents WHERE id = $1 AND account = $2 AND deleted_at IS NULL");
    let known = known.bind(agent.to_string()).bind(account.to_string());
    known.existing(&mut *work.conn).await?;
    let mut wanted = Conditions::default();
    wanted.and("agent = ?", [agent.to_string().into()]);
    if let Some(before) = before {
        wanted.and("version < ?", [before.into()]);
    }
    let head = "SELECT version, changed, saved_at FROM agent_versions";
    let query = wanted.query(head, "ORDER BY version DESC", limit);
    let rows = query.all(work.conn).await?;
    let version = |row: &AnyRow| {
        Ok(AgentVersion {
            version: row.int("version")?,
            saved_at: row.time("saved_at")?,
            changed: row.json("changed")?,
        })
    };
    rows.iter().map(version).collect()
}
