//! HTTP tools and the agents that use them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::{
    agent::referenced_tools,
    id::{AccountId, AgentId, ToolId},
    ports::store::{
        CREATED, HOLDERS_NAMED, Holder, HttpTool, KeyTicket, Removal, StoreError, StoreResult, ToolRow, ToolStore,
    },
    time::Timestamp,
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use super::{
    SqlStore, Work, idempotency,
    rows::{AnyQuery, Columns, Conditions, affected, composed, unavailable, unique},
};

const COLUMNS: &str =
    "id, account, name, description, parameters, url, method, timeout_ms, version, created_at, updated_at";

/// Ids in one statement.
const CHUNK: usize = 500;

#[async_trait]
impl ToolStore for SqlStore {
    async fn create_tool(&self, account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> StoreResult<ToolRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(create(work, account, new, ticket)))
            .await
    }

    async fn tool(&self, account: AccountId, id: ToolId) -> StoreResult<ToolRow> {
        self.read(move |work| Box::pin(get(work, account, id))).await
    }

    async fn tools(
        &self,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<ToolRow>> {
        self.read(move |work| Box::pin(list(work, account, after, limit))).await
    }

    async fn tools_of(&self, account: AccountId, ids: &[ToolId]) -> StoreResult<Vec<ToolRow>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |mut work| Box::pin(async move { known(&mut work, account, &ids).await }))
            .await
    }

    async fn update_tool(&self, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow> {
        self.write(move |work| Box::pin(update(work, (account, id), version, new)))
            .await
    }

    async fn delete_tool(&self, account: AccountId, id: ToolId) -> StoreResult<Removal> {
        self.write(move |work| Box::pin(delete(work, account, id))).await
    }
}

fn read(row: &AnyRow) -> StoreResult<ToolRow> {
    Ok(ToolRow {
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

async fn get(work: Work<'_>, account: AccountId, id: ToolId) -> StoreResult<ToolRow> {
    let row = composed(format!("SELECT {COLUMNS} FROM tools WHERE id = $1 AND account = $2"))
        .bind(id.to_string())
        .bind(account.to_string())
        .fetch_optional(work.conn)
        .await
        .map_err(unavailable)?;
    read(&row.ok_or(StoreError::NotFound)?)
}

async fn list(
    work: Work<'_>,
    account: AccountId,
    after: Option<(Timestamp, ToolId)>,
    limit: i64,
) -> StoreResult<Vec<ToolRow>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    if let Some((created_at, id)) = after {
        wanted.and(
            "(created_at, id) < (?, ?)",
            [created_at.0.into(), id.to_string().into()],
        );
    }
    let head = format!("SELECT {COLUMNS} FROM tools");
    let query = wanted.query(&head, "ORDER BY created_at DESC, id DESC", limit);
    let rows = query.fetch_all(work.conn).await.map_err(unavailable)?;
    rows.iter().map(read).collect()
}

async fn known(work: &mut Work<'_>, account: AccountId, ids: &[String]) -> StoreResult<Vec<ToolRow>> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let places: Vec<String> = (2..chunk.len() + 2).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM tools WHERE account = $1 AND id IN ({})",
            places.join(", ")
        );
        let query = composed(sql).bind(account.to_string());
        let query: AnyQuery<'_> = chunk.iter().fold(query, |query, id| query.bind(id.clone()));
        for row in query.fetch_all(&mut *work.conn).await.map_err(unavailable)? {
            found.push(read(&row)?);
        }
    }
    Ok(found)
}

async fn update(
    mut work: Work<'_>,
    (account, id): (AccountId, ToolId),
    version: i64,
    new: HttpTool,
) -> StoreResult<ToolRow> {
    if get(work.again(), account, id).await?.version != version {
        return Err(StoreError::Stale);
    }
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
    read(&row.ok_or(StoreError::Stale)?)
}

async fn delete(mut work: Work<'_>, account: AccountId, id: ToolId) -> StoreResult<Removal> {
    get(work.again(), account, id).await?;
    let holders = holders(&mut work, id).await?;
    if !holders.is_empty() {
        return Ok(Removal::Held(holders));
    }
    let row = sqlx::query("DELETE FROM tools WHERE id = $1 AND account = $2");
    match affected(row.bind(id.to_string()).bind(account.to_string()), work.conn).await {
        // An agent referenced it since it was read.
        Err(StoreError::NotFound) => Err(StoreError::Stale),
        Err(other) => Err(other),
        Ok(0) => Err(StoreError::NotFound),
        Ok(_) => Ok(Removal::Done),
    }
}

async fn holders(work: &mut Work<'_>, id: ToolId) -> StoreResult<Vec<Holder>> {
    let agents = "SELECT a.id, a.name FROM agent_tools h JOIN agents a ON a.id = h.agent WHERE h.tool = $1 \
                  ORDER BY a.id LIMIT $2";
    let query = sqlx::query(agents)
        .bind(id.to_string())
        .bind(i64::try_from(HOLDERS_NAMED).unwrap_or(i64::MAX));
    let rows = query.fetch_all(&mut *work.conn).await.map_err(unavailable)?;
    let holder = |row: &AnyRow| {
        Ok(Holder {
            kind: "agent",
            id: row.id::<AgentId>("id")?.to_string(),
            name: row.text("name")?,
        })
    };
    rows.iter().map(holder).collect()
}

/// Stores which tools an agent's document references; earlier references were cleared before. Returns `Stale`
/// if a tool is deleted.
pub(super) async fn hold(
    work: &mut Work<'_>,
    (account, agent): (AccountId, AgentId),
    document: &Map<String, Value>,
) -> StoreResult<()> {
    let named: BTreeSet<String> = referenced_tools(document).into_iter().map(|(_, text)| text).collect();
    let named: Vec<String> = named.into_iter().collect();
    let found = known(work, account, &named).await?;
    if found.len() != named.len() {
        return Err(StoreError::Stale);
    }
    for row in found {
        let insert = sqlx::query("INSERT INTO agent_tools (agent, tool) VALUES ($1, $2)");
        let insert = insert.bind(agent.to_string()).bind(row.id.to_string());
        // The referenced tool was deleted since it was read.
        affected(insert, work.conn).await.map_err(|error| match error {
            StoreError::NotFound => StoreError::Stale,
            other => other,
        })?;
    }
    Ok(())
}
