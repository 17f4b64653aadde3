//! What a language model is asked for one reply, in no provider's words: instructions, the call so far as messages, and
//! the tools it may call.
//!
//! What stays the same from reply to reply comes first and what changes last, behind the call so far, so that a
//! provider's prompt cache holds all that was sent before.

mod conversation;
mod delivery;
mod instructions;
mod knowledge;
mod language;
pub mod notes;
mod tools;

use serde_json::Value;

pub use self::{
    language::name as language_name,
    tools::{EntityLine, is_built_in},
};
use crate::ports::language_model::ReplyRequest;

/// The line of the instructions after the agent's own prompt.
pub const LINE_HEADING: &str = "# The line";
/// The line of the instructions above the agent's name.
pub const NAME_HEADING: &str = "# Name";
/// The line of the instructions above the greeting.
pub const GREETING_HEADING: &str = "# Greeting";
/// The line of the instructions above what documents say.
pub const KNOWLEDGE_HEADING: &str = "# Knowledge";
/// The rule of an agent that honours a wish never to be called again.
pub const OPT_OUT_RULE: &str = "- If they ask never to be called again, promise that and call `endCall` with the reason `opt_out`; if \
     you are not sure that they do, ask once.";

/// The request of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Instructions that are the same in every reply of a call.
    pub stable: String,
    /// What changes with every reply, such as the time. It belongs behind the last words of the call: whatever stands
    /// behind it no provider's cache can hold.
    pub changing: String,
    /// The call so far: begins and ends with [`Message::User`] or [`Message::Results`], and the roles alternate.
    pub messages: Vec<Message>,
    /// What may be called.
    pub tools: Vec<Tool>,
    /// How freely the model chooses its words: 0 to 2.
    pub temperature: f64,
}

/// One message of the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the other person said, with notes from the line.
    User(String),
    /// What the agent was heard to say, and the tools it called after that.
    Agent {
        /// The words; may be empty if there are calls.
        text: String,
        /// In the order they were made.
        calls: Vec<ToolCall>,
    },
    /// What the calls of the message before answered.
    Results(Vec<ToolResult>),
}

/// A tool call of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// `call_1`, `call_2`, …
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// An object.
    pub arguments: Value,
    /// What else the provider put into the call.
    pub echo: Option<Value>,
}

/// A tool call's result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call's.
    pub id: String,
    /// What it answered.
    pub result: Value,
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// When to call it.
    pub description: String,
    /// Its arguments as JSON Schema: an object without further properties, every property required.
    pub parameters: Value,
}

impl Prompt {
    /// What to ask for a reply.
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
