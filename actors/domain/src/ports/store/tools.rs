//! HTTP tools of an account, and who holds them.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use super::{KeyTicket, Removal, StoreResult};
use crate::{
    id::{AccountId, ToolId},
    time::Timestamp,
};

/// What a tool is; as JSON, the body that makes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpTool {
    /// What the model calls it; unique in the account.
    pub name: String,
    /// What it does and when it is wanted; may hold placeholders.
    pub description: String,
    /// Its arguments: a JSON Schema of an object.
    pub parameters: Value,
    /// The address.
    pub url: String,
    /// The HTTP method, in upper case.
    pub method: String,
    /// The most time of one request, in milliseconds.
    pub timeout_ms: i64,
}

/// A tool as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRow {
    /// Its id.
    pub id: ToolId,
    /// Its owner.
    pub account: AccountId,
    /// What it is.
    pub tool: HttpTool,
    /// Counts its changes, from 1 on.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// HTTP tools. An agent's document that names a tool which is not there is `Stale` to every writer of agents.
#[async_trait]
pub trait ToolStore: Send + Sync {
    /// Makes a tool. `NotFound` when there is no such account, `Exists("name")` when another has the name.
    async fn create_tool(&self, account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> StoreResult<ToolRow>;

    /// One tool. `NotFound`.
    async fn tool(&self, account: AccountId, id: ToolId) -> StoreResult<ToolRow>;

    /// The account's tools, newest first, behind a place of the list, at most `limit`.
    async fn tools(
        &self,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<ToolRow>>;

    /// Those of `ids` that are tools of the account, in any order.
    async fn tools_of(&self, account: AccountId, ids: &[ToolId]) -> StoreResult<Vec<ToolRow>>;

    /// Changes a tool. `NotFound`; `Stale` when it has another version; `Exists("name")`.
    async fn update_tool(&self, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow>;

    /// Deletes a tool that no agent holds. `NotFound`; `Stale` when it came to be held meanwhile.
    async fn delete_tool(&self, account: AccountId, id: ToolId) -> StoreResult<Removal>;
}
