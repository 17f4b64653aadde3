//! HTTP tools that agents use in calls.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{operation::Operation, samples};
use crate::resources::agents::tools::{ShownTool, ToolDeleted, ToolMethod};

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

/// A tool to create.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewHttpTool {
    /// Name of the tool; unique in the account.
    pub name: ToolName,
    /// Description for the model.
    pub description: ToolDescription,
    /// JSON Schema of `type` `object`, at most 16 KiB, without external references. Without it the tool has
    /// no arguments.
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    /// URL of the tool.
    pub url: ToolUrl,
    /// HTTP method; `POST` by default.
    pub method: Option<ToolMethod>,
    /// Time limit of the request in milliseconds; 10000 by default.
    #[schema(minimum = 100, maximum = 30000)]
    pub timeout_ms: Option<i64>,
}

/// Changes of a tool (RFC 7396).
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpToolPatch {
    /// New name.
    #[schema(required = false)]
    pub name: ToolName,
    /// New description.
    #[schema(required = false)]
    pub description: ToolDescription,
    /// Merged into the current schema; `null` removes all arguments.
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    /// New URL.
    #[schema(required = false)]
    pub url: ToolUrl,
    /// New HTTP method.
    pub method: Option<ToolMethod>,
    /// New time limit, in milliseconds.
    #[schema(minimum = 100, maximum = 30000)]
    pub timeout_ms: Option<i64>,
}

const TAKEN: &str =
    "another tool of this account is called `openingHours`: models tell tools by their names; choose another";

/// Returns the operations of tools.
pub fn operations() -> Vec<Operation> {
    let day = json!({
        "type": "object",
        "properties": { "day": { "type": "string", "description": "The day of the week." } },
        "required": ["day"],
    });
    let least = json!({ "name": "openingHours", "description": "Tells the opening hours.",
                        "url": "https://example.com/hours" });
    let more = json!({ "name": "openingHoursOf", "description": "Tells the opening hours of a day.", "parameters": day,
                       "url": "https://example.com/hours", "method": "GET", "timeoutMs": 5000 });
    vec![
        Operation::get("/public/v1/tools", "listTools", "List HTTP tools, newest first")
            .ours()
            .paged()
            .page::<ShownTool>(samples::tool()),
        Operation::post("/public/v1/tools", "createTool", "Create an HTTP tool")
            .ours()
            .idempotent()
            .body::<NewHttpTool>(json!({ "least": least, "more": more }))
            .versioned()
            .created::<ShownTool>(samples::tool())
            .link("read", "getTool", "toolId", "/data/toolId")
            .link("change", "updateTool", "toolId", "/data/toolId")
            .link("delete", "deleteTool", "toolId", "/data/toolId")
            .invalid(
                "url",
                "address_not_allowed",
                "127.0.0.1 is a loopback address; only public addresses are taken",
            )
            .conflict("conflict", TAKEN),
        Operation::get("/public/v1/tools/{toolId}", "getTool", "Read an HTTP tool")
            .ours()
            .versioned()
            .ok::<ShownTool>(samples::tool()),
        Operation::patch("/public/v1/tools/{toolId}", "updateTool", "Change an HTTP tool")
            .ours()
            .body::<HttpToolPatch>(json!({ "nothing": {}, "some": { "timeoutMs": 3000 } }))
            .versioned()
            .ok::<ShownTool>(samples::tool())
            .invalid("timeoutMs", "out_of_range", "must be from 100 to 30000, not 50")
            .conflict("conflict", TAKEN),
        Operation::delete("/public/v1/tools/{toolId}", "deleteTool", "Delete an HTTP tool")
            .ours()
            .ok::<ToolDeleted>(json!({ "toolId": samples::TOOL, "deleted": true }))
            .conflict("in_use", "the agent `Ava` holds this tool"),
    ]
}
