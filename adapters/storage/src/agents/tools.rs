//! HTTP tools and the agents that use them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::{
    agent::referenced_tools,
    id::{AccountId, ToolId},
    ports::store::{AgentRow, CREATED, HttpTool, KeyTicket, Removal, StoreError, StoreResult, ToolRow, ToolStore},
    time::Timestamp,
};
use sqlx::any::AnyRow;

use super::held_rows::{self, HeldRow};
use crate::{
    accounts::idempotency,
    engine::{
        SqlStore, Work,
        rows::{Columns, composed, unique},
    },
};

const COLUMNS: &str =
    "id, account, name, description, parameters, url, method, timeout_ms, version, created_at, updated_at";

impl HeldRow for ToolRow {
    const TABLE: &'static str = "tools";
    const COLUMNS: &'static str = COLUMNS;
    const HELD_IN: (&'static str, &'static str) = ("agent_tools", "tool");

    fn read(row: &AnyRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id("id")?,
            account: row.id("account")?,
            tool: HttpTool {
                name: row.text("name")?,
                description: row.text("description")?,
                parameters: row.json("parameters")?,
                url: row.text("url")?,
                method: row.text("method")?,
                timeout_ms: row.int("timeout_ms")?,
            },
            version: row.int("version")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

#[async_trait]
impl ToolStore for SqlStore {
    async fn create_tool(&self, account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> StoreResult<ToolRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(create(work, account, new, ticket)))
            .await
    }

    async fn tool(&self, account: AccountId, id: ToolId) -> StoreResult<ToolRow> {
        self.read(move |work| Box::pin(held_rows::get(work, account, id.to_string())))
            .await
    }

    async fn tools(
        &self,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<ToolRow>> {
        let after = after.map(|(at, id)| (at, id.to_string()));
        self.read(move |work| Box::pin(held_rows::list(work, account, after, limit)))
            .await
    }

    async fn tools_of(&self, account: AccountId, ids: &[ToolId]) -> StoreResult<Vec<ToolRow>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |mut work| Box::pin(async move { held_rows::known(&mut work, account, &ids).await }))
            .await
    }

    async fn update_tool(&self, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow> {
        self.change(account, move |work| Box::pin(update(work, account, id, version, new)))
            .await
    }

    async fn delete_tool(&self, account: AccountId, id: ToolId) -> StoreResult<Removal> {
        self.change(account, move |work| {
            Box::pin(held_rows::delete::<ToolRow>(work, account, id.to_string()))
        })
        .await
    }
}

async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: HttpTool,
    ticket: Option<KeyTicket>,
) -> StoreResult<ToolRow> {
    let id = ToolId::new();
    let insert = composed(format!(
        "INSERT INTO tools ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9)"
    ));
    insert
        .bind(id.to_string())
        .bind(account.to_string())
        .bind(new.name.clone())
        .bind(new.description.clone())
        .bind(new.parameters.to_string())
        .bind(new.url.clone())
        .bind(new.method.clone())
        .bind(new.timeout_ms)
        .bind(work.now.0)
        .execute(&mut *work.conn)
        .await
        .map_err(unique("name"))?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    Ok(ToolRow {
        id,
        account,
        tool: new,
        version: 1,
        created_at: work.now,
        updated_at: work.now,
    })
}

async fn update(work: Work<'_>, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow> {
    let update = composed(format!(
        "UPDATE tools SET name = $1, description = $2, parameters = $3, url = $4, method = $5, timeout_ms = $6, \
         updated_at = $7, version = version + 1 WHERE id = $8 AND account = $9 AND version = $10 RETURNING {COLUMNS}"
    ));
    let row = update
        .bind(new.name)
        .bind(new.description)
        .bind(new.parameters.to_string())
        .bind(new.url)
        .bind(new.method)
        .bind(new.timeout_ms)
        .bind(work.now.0)
        .bind(id.to_string())
        .bind(account.to_string())
        .bind(version)
        .fetch_optional(&mut *work.conn)
        .await
        .map_err(unique("name"))?;
    held_rows::updated(work, account, id.to_string(), row).await
}

/// Stores which tools an agent's document references; earlier references were cleared before. Returns `Stale`
/// if a tool is deleted.
pub(crate) async fn hold(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    let named: BTreeSet<String> = referenced_tools(&agent.document)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let named: Vec<String> = named.into_iter().collect();
    let found = held_rows::known::<ToolRow>(work, agent.account, &named).await?;
    if found.len() != named.len() {
        return Err(StoreError::Stale);
    }
    for row in found {
        held_rows::hold::<ToolRow>(work, agent.id, row.id.to_string()).await?;
    }
    Ok(())
}
