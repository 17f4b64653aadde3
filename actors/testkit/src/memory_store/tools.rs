//! HTTP tools in memory.

use std::cmp::Reverse;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{MemoryStore, tables::Tables};
use domain::{
    agent::{Reference, referenced_tools},
    id::{AccountId, ToolId},
    ports::store::{
        AgentRow, CREATED, HOLDERS_NAMED, Holder, HttpTool, KeyTicket, Removal, StoreError, StoreResult, ToolRow,
        ToolStore,
    },
    time::Timestamp,
};

impl Tables {
    /// Checks that the tools in an agent's document exist.
    pub(super) fn require_tools(&self, account: AccountId, document: &Map<String, Value>) -> StoreResult<()> {
        let known = |text: &str| text.parse().is_ok_and(|id| self.tool_of(account, id).is_ok());
        let all = referenced_tools(document).iter().all(|(_, text)| known(text));
        if all { Ok(()) } else { Err(StoreError::Stale) }
    }

    /// Returns the first agents whose documents name this id.
    pub(super) fn holders(&self, id: &str, named: fn(&Map<String, Value>) -> Vec<Reference>) -> Vec<Holder> {
        let mut holding: Vec<&AgentRow> = self.agents.values().collect();
        holding.retain(|row| named(&row.document).iter().any(|(_, named)| named == id));
        holding.sort_by_key(|row| row.id);
        holding.into_iter().take(HOLDERS_NAMED).map(holder).collect()
    }

    fn tool_of(&self, account: AccountId, id: ToolId) -> StoreResult<&ToolRow> {
        let found = self.tools.get(&id).filter(|row| row.account == account);
        found.ok_or(StoreError::NotFound)
    }

    fn require_free_name(&self, account: AccountId, own: Option<ToolId>, name: &str) -> StoreResult<()> {
        let mut others = self.tools.values().filter(|row| Some(row.id) != own);
        match others.any(|row| row.account == account && row.tool.name == name) {
            true => Err(StoreError::Exists("name")),
            false => Ok(()),
        }
    }
}

fn holder(row: &AgentRow) -> Holder {
    let name = row.document.get("name").and_then(Value::as_str);
    Holder {
        kind: "agent",
        id: row.id.to_string(),
        name: name.unwrap_or_default().to_owned(),
    }
}

#[async_trait]
impl ToolStore for MemoryStore {
    async fn create_tool(&self, account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> StoreResult<ToolRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.require_free_name(account, None, &new.name)?;
        let now = self.now();
        let row = ToolRow {
            id: ToolId::new(),
            account,
            tool: new,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), now)?;
        tables.tools.insert(row.id, row.clone());
        Ok(row)
    }

    async fn tool(&self, account: AccountId, id: ToolId) -> StoreResult<ToolRow> {
        self.open()?.tool_of(account, id).cloned()
    }

    async fn tools(
        &self,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<ToolRow>> {
        let tables = self.open()?;
        let own = tables.tools.values().filter(|row| row.account == account);
        let mut found: Vec<ToolRow> = own.cloned().collect();
        found.retain(|row| after.is_none_or(|last| (row.created_at, row.id) < last));
        found.sort_by_key(|row| Reverse((row.created_at, row.id)));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(found)
    }

    async fn tools_of(&self, account: AccountId, ids: &[ToolId]) -> StoreResult<Vec<ToolRow>> {
        let tables = self.open()?;
        let known = ids.iter().filter_map(|id| tables.tool_of(account, *id).ok());
        Ok(known.cloned().collect())
    }

    async fn update_tool(&self, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow> {
        let mut tables = self.open()?;
        let mut row = tables.tool_of(account, id)?.clone();
        if row.version != version {
            return Err(StoreError::Stale);
        }
        tables.require_free_name(account, Some(id), &new.name)?;
        row.tool = new;
        row.version += 1;
        row.updated_at = self.now();
        tables.tools.insert(id, row.clone());
        Ok(row)
    }

    async fn delete_tool(&self, account: AccountId, id: ToolId) -> StoreResult<Removal> {
        let mut tables = self.open()?;
        tables.tool_of(account, id)?;
        let holders = tables.holders(&id.to_string(), referenced_tools);
        if !holders.is_empty() {
            return Ok(Removal::Held(holders));
        }
        tables.tools.remove(&id);
        Ok(Removal::Done)
    }
}
