//! Changes of an agent during a call: to another agent, or to another language.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    config::ConversationConfig,
    document::merge,
    object::Agent,
    tools::{AgentTransfer, TransferToAgent},
};
use crate::{
    id::AgentId,
    template::{self, Place},
};

/// Sections of the conversation's configuration that a language preset may change.
const OVERRIDDEN: [&str; 4] = ["agent", "asr", "tts", "turn"];

/// Field of a campaign's contact, and value of a single call, that chooses the language in which the call begins.
pub const LANGUAGE_OVERRIDE: &str = "override.language";

/// Fields of the prompt that no preset may change, because the agent's references were checked in the document itself.
const FIXED: [&str; 3] = ["builtInTools", "toolIds", "knowledgeBase"];

/// An agent that calls can be transferred to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Id of the agent.
    pub agent: AgentId,
    /// Condition of the transfer; may be empty.
    pub condition: String,
    /// Silence before the transfer, in milliseconds.
    pub delay_ms: u64,
    /// Message that the present agent says before the transfer.
    pub message: Option<String>,
    /// Whether the other agent greets.
    pub greets: bool,
}

impl Successor {
    fn of(transfer: &AgentTransfer, variables: &BTreeMap<String, String>) -> Option<Self> {
        let told = |text: &Option<String>| {
            let text = template::render(Place::ToolDescription, text.as_deref().unwrap_or_default(), variables);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let message = told(&transfer.transfer_message);
        Some(Self {
            agent: transfer.agent_id.as_deref()?.parse().ok()?,
            condition: told(&transfer.condition),
            delay_ms: u64::try_from(transfer.delay_ms.unwrap_or(0)).unwrap_or(0),
            message: Some(message).filter(|message| !message.is_empty()),
            greets: transfer.enable_transferred_agent_first_message,
        })
    }
}

impl TransferToAgent {
    /// Returns the usable transfers in the agent's order; none while the tool is not enabled.
    pub fn successors(&self, variables: &BTreeMap<String, String>) -> Vec<Successor> {
        let all = self.transfers.iter().filter(|_| self.tool.enabled);
        all.filter_map(|transfer| Successor::of(transfer, variables)).collect()
    }
}

impl Agent {
    /// Returns the languages that the agent may switch to, the present one first; none while the tool is not
    /// enabled or if there is no preset.
    pub fn languages(&self) -> Vec<String> {
        let config = &self.conversation_config;
        let tool = &config.agent.prompt.built_in_tools.language_detection;
        if !tool.enabled || config.language_presets.is_empty() {
            return Vec::new();
        }
        let own = &self.in_own_language().agent.primary_language;
        let presets = config.language_presets.keys();
        distinct([&config.agent.primary_language].into_iter().chain(presets).chain([own]))
    }

    /// Returns the languages in which a call may begin: the agent's own first, then those of its presets.
    pub fn first_languages(&self) -> Vec<String> {
        let own = self.in_own_language();
        distinct(
            [&own.agent.primary_language]
                .into_iter()
                .chain(own.language_presets.keys()),
        )
    }

    /// Returns the agent in one of its languages: its own, or another one with the overrides of that preset. If
    /// an override has the wrong type, all overrides are ignored, but the language still changes. The result
    /// knows its own language, so that it may be changed again.
    #[must_use]
    pub fn in_language(&self, code: &str) -> Self {
        let own = self.in_own_language();
        let mut config = match own.agent.primary_language == code {
            true => own.clone(),
            false => with_preset(own, code, self.keeps_voice),
        };
        let (prompt, present) = (&mut config.agent.prompt, &self.conversation_config.agent.prompt);
        prompt.built_in_tools.clone_from(&present.built_in_tools);
        prompt.tool_ids.clone_from(&present.tool_ids);
        prompt.knowledge_base.clone_from(&present.knowledge_base);
        let own = self.own_language.clone();
        Self {
            conversation_config: config,
            own_language: Some(own.unwrap_or_else(|| Arc::new(self.conversation_config.clone()))),
            ..self.clone()
        }
    }

    pub(crate) fn in_own_language(&self) -> &ConversationConfig {
        self.own_language.as_deref().unwrap_or(&self.conversation_config)
    }
}

fn distinct<'a>(codes: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for code in codes {
        if !distinct.contains(code) {
            distinct.push(code.clone());
        }
    }
    distinct
}

/// Returns the settings with the overrides of a preset, and its voice unless the call's is kept.
fn with_preset(own: &ConversationConfig, code: &str, keeps_voice: bool) -> ConversationConfig {
    let mut config = own.clone();
    let preset = own.language_presets.get(code);
    if let Some(Value::Object(overrides)) = preset.and_then(|preset| preset.get("overrides"))
        && let Ok(mut merged) = serde_json::to_value(own)
    {
        merge(&mut merged, &Value::Object(allowed(overrides)));
        match serde_json::from_value(merged) {
            Ok(overridden) => config = overridden,
            Err(error) => tracing::warn!(code, %error, "invalid overrides in a language preset"),
        }
    }
    code.clone_into(&mut config.agent.primary_language);
    if !keeps_voice
        && config.tts.voice_id == own.tts.voice_id
        && let Some(voice) = config.tts.voice_of(code).cloned()
    {
        config.tts.take(voice);
    }
    config
}

/// Returns the overrides that a preset may make.
fn allowed(overrides: &Map<String, Value>) -> Map<String, Value> {
    let known = overrides.iter().filter(|(name, _)| OVERRIDDEN.contains(&name.as_str()));
    let mut allowed: Map<String, Value> = known.map(|(name, value)| (name.clone(), value.clone())).collect();
    let prompt = allowed.get_mut("agent").and_then(|agent| agent.get_mut("prompt"));
    if let Some(prompt) = prompt.and_then(Value::as_object_mut) {
        prompt.retain(|name, _| !FIXED.contains(&name.as_str()));
    }
    allowed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent() -> Agent {
        serde_json::from_value(json!({ "name": "Ava", "conversationConfig": {
            "agent": { "greetingMessage": "Hello.", "dynamicVariables": { "shop": "store", "city": "Bonn" }, "prompt": { "prompt": "Be brief.", "toolIds": ["t"], "builtInTools": {
                "languageDetection": { "enabled": true },
                "transferToNumber": { "enabled": true, "transfers": [] },
            } } },
            "tts": { "voiceId": "espeak:en", "speed": 1.2 },
            "languagePresets": {
                "de": { "overrides": {
                    "agent": { "greetingMessage": "Guten Tag.", "dynamicVariables": { "shop": "Laden" },
                        "disableFirstMessageInterruptions": true, "tone": "warm", "prompt": { "prompt": "Sei kurz.", "toolIds": ["other"],
                        "builtInTools": { "transferToNumber": { "transfers": [
                            { "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } }] } } } },
                    "tts": { "voiceId": "espeak:de" },
                    "conversation": { "maxDurationSeconds": 14400 },
                } },
                "es": { "overrides": { "tts": { "speed": "fast" } } },
                "fr": {},
            },
        } }))
        .unwrap()
    }

    #[test]
    fn a_preset_changes_prompt_voice_and_language_and_nothing_that_can_be_reached() {
        let agent = agent();
        assert_eq!(agent.languages(), ["en", "de", "es", "fr"]);
        let german = agent.in_language("de").conversation_config;
        assert_eq!(agent.in_language("de").languages(), ["de", "es", "fr", "en"]);
        assert_eq!(german.agent.primary_language, "de");
        assert_eq!(german.agent.greeting_message.as_deref(), Some("Guten Tag."));
        assert_eq!(german.agent.prompt.prompt, "Sei kurz.");
        assert_eq!((german.tts.voice_id.as_str(), german.tts.speed), ("espeak:de", 1.2));
        assert_eq!(german.agent.prompt.tool_ids, ["t"]);
        assert!(
            german
                .agent
                .prompt
                .built_in_tools
                .transfer_to_number
                .transfers
                .is_empty()
        );
        assert_eq!(german.conversation.max_duration_seconds, 300);
        let spanish = agent.in_language("es").conversation_config;
        assert_eq!(
            (spanish.agent.primary_language.as_str(), spanish.tts.speed),
            ("es", 1.2)
        );
        assert_eq!(agent.in_language("fr").conversation_config.agent.primary_language, "fr");
    }

    #[test]
    fn a_preset_brings_its_greeting_and_variables_and_is_left_without_a_trace() {
        let agent = agent();
        let german = agent.in_language("de");
        let section = &german.conversation_config.agent;
        let variables = json!({ "shop": "Laden", "city": "Bonn" });
        assert_eq!(section.greeting_message.as_deref(), Some("Guten Tag."));
        assert_eq!(Value::Object(section.dynamic_variables.clone()), variables);
        assert!(section.disable_first_message_interruptions);
        assert_eq!(german.in_language("en").conversation_config, agent.conversation_config);
        assert_eq!(german.in_language("fr"), agent.in_language("fr"));
    }

    #[test]
    fn a_tool_that_is_not_enabled_offers_nothing() {
        let mut agent = agent();
        agent
            .conversation_config
            .agent
            .prompt
            .built_in_tools
            .language_detection
            .enabled = false;
        assert!(agent.languages().is_empty());
        let id = AgentId::new();
        let transfers =
            json!([{ "agentId": id, "transferMessage": " To {{who}}. ", "delayMs": 5 }, { "agentId": "x" }]);
        let tool = |enabled: bool| {
            let tool = json!({ "enabled": enabled, "transfers": transfers });
            let tool: TransferToAgent = serde_json::from_value(tool).unwrap();
            tool.successors(&BTreeMap::from([("who".to_owned(), "Bo".to_owned())]))
        };
        assert!(tool(false).is_empty());
        let found = tool(true);
        assert_eq!((found.len(), found[0].agent, found[0].delay_ms), (1, id, 5));
        assert_eq!(found[0].message.as_deref(), Some("To Bo."));
    }

    #[test]
    fn another_language_brings_its_voice_unless_its_preset_names_one() {
        let agent: Agent = serde_json::from_value(json!({ "conversationConfig": {
            "tts": { "voiceId": "ava", "supportedVoices": [
                { "label": "Eva", "voiceId": "eva", "language": "en" },
                { "label": "Ana", "voiceId": "ana", "language": "es-MX", "speed": 0.9 },
            ] },
            "languagePresets": {
                "es": {}, "fr": {},
                "es-ES": { "overrides": { "tts": { "voiceId": "pau" } } },
            },
        } }))
        .unwrap();
        for (code, voice, speed) in [("es", "ana", 0.9), ("es-ES", "pau", 1.0), ("fr", "ava", 1.0)] {
            let tts = agent.in_language(code).conversation_config.tts;
            assert_eq!((&*tts.voice_id, tts.speed), (voice, speed), "{code}");
        }
    }
}
