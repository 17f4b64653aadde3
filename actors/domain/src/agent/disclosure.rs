//! `platformSettings.disclosure`: whether the agent tells that an AI speaks, and its own texts for that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Agent;

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

impl Agent {
    /// Returns all texts of its own that the agent may say.
    pub fn disclosure_texts(&self) -> impl Iterator<Item = &str> {
        let settings = &self.platform_settings.disclosure;
        let presets = self.conversation_config.language_presets.values();
        let texts = settings
            .text
            .as_deref()
            .into_iter()
            .chain(presets.filter_map(text_of_preset));
        texts.filter(|_| settings.enabled)
    }
}

/// Returns the text of a language's preset, if it has one.
pub(crate) fn text_of_preset(preset: &Value) -> Option<&str> {
    preset.pointer("/overrides/disclosure/text")?.as_str()
}
