//! The request to a language model for one reply, independent of the provider: instructions, the call so far
//! as messages, and the tools it may call.
//!
//! Parts that stay the same from reply to reply come first. Parts that change come last, after the call so
//! far, so that a provider's prompt cache covers everything that was sent before.

mod conversation;
mod delivery;
mod instructions;
mod knowledge;
mod language;
pub mod notes;
mod tools;

use serde_json::Value;

#[cfg(test)]
pub(crate) use self::language::NAMES;
pub use self::{
    language::{in_words as language_in_words, main_code, name as language_name},
    tools::{EntityLine, is_built_in},
};
use crate::ports::language_model::ReplyRequest;

/// Heading in the instructions, after the agent's own prompt.
pub const LINE_HEADING: &str = "# The line";
/// Heading in the instructions above the agent's name.
pub const NAME_HEADING: &str = "# Name";
/// Heading in the instructions above the greeting.
pub const GREETING_HEADING: &str = "# Greeting";
/// Heading in the instructions above the agent's documents.
pub const KNOWLEDGE_HEADING: &str = "# Knowledge";
/// Rule for an agent that honours opt-outs.
pub const OPT_OUT_RULE: &str = "- If they ask never to be called again, promise that and call `endCall` with the reason `opt_out`; if \
     you are not sure that they do, ask once.";

/// The request for one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Instructions that are the same in every reply of a call.
    pub stable: String,
    /// Instructions that change with every reply, such as the time. They belong after the last turn of the
    /// call, because a provider's cache cannot cover anything that comes after them.
    pub changing: String,
    /// The call so far. It begins and ends with [`Message::User`] or [`Message::Results`], and the roles alternate.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Temperature, 0 to 2.
    pub temperature: f64,
}

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

impl Prompt {
    /// Creates the request for a reply.
    pub fn of(request: &ReplyRequest) -> Self {
        let mut tools = tools::tools(&request.agent, &request.variables, request.direction);
        tools.extend(tools::outside(&request.tools));
        Self {
            stable: instructions::stable(request, &tools),
            changing: instructions::changing(request),
            messages: conversation::messages(&request.history),
            tools,
            temperature: request.agent.conversation_config.agent.prompt.temperature,
        }
    }
}

#[cfg(test)]
mod tests;
