//! HTTP tools of an account, and the agents that use them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{error::StoreResult, idempotency::KeyTicket, knowledge::Removal};
use crate::{
    id::{AccountId, ToolId},
    time::Timestamp,
};

/// Name by which the model calls the tool; must differ from built-in tools.
#[derive(ToSchema)]
#[schema(pattern = "^[a-zA-Z0-9_-]{1,64}$", example = "openingHours")]
pub struct ToolName(pub String);

/// URL of a tool: `http` or `https`. Private addresses are refused unless the service allows them.
#[derive(ToSchema)]
#[schema(
    format = "uri",
    max_length = 2048,
    pattern = "^[Hh][Tt][Tt][Pp][Ss]?://",
    example = "https://example.com/hours"
)]
pub struct ToolUrl(pub String);

/// Description for the model: when to use the tool and what it does. May contain `{{placeholders}}`.
#[derive(ToSchema)]
#[schema(max_length = 4000, pattern = r"\S", example = "Tells the opening hours of a day.")]
pub struct ToolDescription(pub String);

/// HTTP method of a tool's request.
#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
pub enum ToolMethod {
    /// Sends the arguments in the query.
    Get,
    /// Sends the arguments in the body.
    Post,
    /// Sends the arguments in the body.
    Put,
    /// Sends the arguments in the body.
    Patch,
    /// Sends the arguments in the query.
    Delete,
}

/// An HTTP tool, as its account sets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = NewHttpTool)]
#[serde(rename_all = "camelCase")]
pub struct HttpTool {
    /// Name by which the model calls the tool; unique in the account.
    #[schema(value_type = ToolName)]
    pub name: String,
    /// Description for the model, of what the tool does and when to use it; may contain placeholders.
    #[schema(value_type = ToolDescription)]
    pub description: String,
    /// JSON Schema of the arguments: of `type` `object`, at most 16 KiB, without external references. By default the
    /// tool has no arguments.
    #[schema(value_type = Object)]
    #[serde(default = "no_arguments")]
    pub parameters: Value,
    /// URL of the tool.
    #[schema(value_type = ToolUrl)]
    pub url: String,
    /// HTTP method of the request; `POST` by default.
    #[schema(value_type = ToolMethod)]
    #[serde(default = "post")]
    pub method: String,
    /// Time limit of the request in milliseconds; 10000 by default.
    #[schema(minimum = 100, maximum = 30000)]
    #[serde(default = "ten_seconds")]
    pub timeout_ms: i64,
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn post() -> String {
    "POST".to_owned()
}

fn ten_seconds() -> i64 {
    10_000
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
