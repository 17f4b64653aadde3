//! Interface of a language model's API.

use domain::prompt::{Prompt, Tool};
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    protocols::llm::{format::Format, reply_stream::Protocol},
};

/// Maximum tokens of one reply: about two minutes of speech, with its tool calls.
pub(crate) const MOST_TOKENS: u32 = 2_048;

/// Maximum tokens of an answer in JSON about a whole call.
pub(crate) const MOST_SHAPED_TOKENS: u32 = 4_096;

/// API of a provider's language models.
pub(crate) trait LanguageApi: Sync {
    /// Returns the address of a request to a model.
    fn url(&self, endpoint: &Endpoint, model: &str) -> String;

    /// Returns the body of a request for a reply, or for an answer in JSON if there is a schema.
    fn body(&self, provider: &str, model: &str, prompt: &Prompt, schema: Option<&Value>) -> Value;

    /// Returns the reader of a reply.
    fn reader(&self, provider: &'static str, format: Format, tools: &[Tool]) -> Box<dyn Protocol>;

    /// Returns whether a model's name is one segment of the address.
    fn has_model_in_path(&self) -> bool {
        false
    }
}
