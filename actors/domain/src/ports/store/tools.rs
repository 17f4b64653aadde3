//! HTTP tools of an account, and the agents that use them.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use super::{error::StoreResult, idempotency::KeyTicket, knowledge::Removal};
use crate::{
    id::{AccountId, ToolId},
    time::Timestamp,
};

/// An HTTP tool. As JSON it is the body of the request that creates it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpTool {
    /// Name for the model; unique in the account.
    pub name: String,
    /// Description for the model, of what it does and when to use it; may contain placeholders.
    pub description: String,
    /// Arguments, as a JSON Schema of an object.
    pub parameters: Value,
    /// URL.
    pub url: String,
    /// The HTTP method, in upper case.
    pub method: String,
    /// Time limit of one request, in milliseconds.
    pub timeout_ms: i64,
}

/// A tool as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRow {
    /// Id of the tool.
    pub id: ToolId,
    /// Account that owns the tool.
    pub account: AccountId,
    /// The tool.
    pub tool: HttpTool,
    /// Number of the version, from 1.
    pub version: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// HTTP tools. Writes of an agent whose document names a missing tool return `Stale`.
#[async_trait]
pub trait ToolStore: Send + Sync {
    /// Creates a tool. Returns `NotFound` if there is no such account, `Exists("name")` if another tool has the name.
    async fn create_tool(&self, account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> StoreResult<ToolRow>;

    /// Returns a tool. Returns `NotFound`.
    async fn tool(&self, account: AccountId, id: ToolId) -> StoreResult<ToolRow>;

    /// Returns the account's tools, newest first, after a position in the list, at most `limit`.
    async fn tools(
        &self,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<ToolRow>>;

    /// Returns those of `ids` that are tools of the account, in any order.
    async fn tools_of(&self, account: AccountId, ids: &[ToolId]) -> StoreResult<Vec<ToolRow>>;

    /// Changes a tool. Returns `NotFound`; `Stale` if it has another version; `Exists("name")`.
    async fn update_tool(&self, account: AccountId, id: ToolId, version: i64, new: HttpTool) -> StoreResult<ToolRow>;

    /// Deletes a tool that no agent uses. Returns `NotFound`; `Stale` if an agent began to use it meanwhile.
    async fn delete_tool(&self, account: AccountId, id: ToolId) -> StoreResult<Removal>;
}
