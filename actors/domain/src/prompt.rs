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
mod message;
pub mod notes;
mod tools;

#[cfg(test)]
pub(crate) use self::language::NAMES;
pub use self::{
    instructions::{GREETING_HEADING, LINE_HEADING, NAME_HEADING, OPT_OUT_RULE},
    knowledge::KNOWLEDGE_HEADING,
    language::{in_words as language_in_words, main_code, name as language_name},
    message::{Message, Tool, ToolCall, ToolResult},
    tools::{EntityLine, is_built_in},
};
use crate::ports::language_model::ReplyRequest;

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
