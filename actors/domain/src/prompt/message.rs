//! Messages of the request, and the tools it offers.

use serde_json::Value;

/// One message of the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Words of the other person, with notes from the line.
    User(String),
    /// Words of the agent that were heard, and the tools it called after them.
    Agent {
        /// Text; may be empty if there are calls.
        text: String,
        /// Tool calls in order.
        calls: Vec<ToolCall>,
    },
    /// Results of the calls in the message before.
    Results(Vec<ToolResult>),
}

/// A tool call of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Id of the tool call: `call_1`, `call_2`, …
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Arguments, a JSON object.
    pub arguments: Value,
    /// Extra data of the provider.
    pub echo: Option<Value>,
}

/// A tool call's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Id of the tool call.
    pub id: String,
    /// Result of the tool call.
    pub result: Value,
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name.
    pub name: String,
    /// Description of when to call it.
    pub description: String,
    /// Arguments as JSON Schema: an object without additional properties, every property required.
    pub parameters: Value,
}
