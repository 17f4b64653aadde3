//! An account at Telnyx.

use actors::phone_number::PhoneNumber;

use super::{line::LineChoice, signature::WebhookKey};
use crate::providers::settings::Key;

/// Where Telnyx is asked.
pub const BASE_URL: &str = "https://api.telnyx.com/v2";

/// Where it is, who asks, and what its webhooks are signed with.
#[derive(Debug, Clone)]
pub struct TelnyxAccount {
    /// `https://`, the host and the version, without a slash at the end.
    pub base_url: String,
    /// Who asks.
    pub api_key: Key,
    /// Checks the signatures of webhooks.
    pub public_key: WebhookKey,
    /// The Call Control application that calls are placed by.
    pub connection: String,
    /// Caller ID where the agent has none.
    pub from: Option<PhoneNumber>,
    /// The codec of calls.
    pub line: LineChoice,
}
