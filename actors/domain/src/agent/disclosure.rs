//! `platformSettings.disclosure`: whether the agent tells that an AI speaks, and its own texts for that.

use serde::{Deserialize, Serialize};

/// Placeholder for the name of the business: the agent's `name`, whatever else is called `name` in the call.
pub(crate) const BUSINESS: &str = "name";

/// `disclosure`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Disclosure {
    /// Whether the agent says it.
    pub enabled: bool,
    /// Text in the agent's own language, with `{{name}}` for the agent's `name`. If unset, the default in the language
    /// of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
