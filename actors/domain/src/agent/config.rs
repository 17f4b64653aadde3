//! `conversationConfig`: prompt, voice, turn-taking and limits of a conversation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    audio_format::{self, AudioFormat},
    figure,
    tools::BuiltInTools,
};
use crate::template::{self, Place};

/// `conversationConfig`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConversationConfig {
    /// Agent: instructions, model, greeting and language.
    pub agent: AgentSection,
    /// Speech to text.
    pub asr: AsrSection,
    /// Turn-taking.
    pub turn: TurnSection,
    /// Text to speech.
    pub tts: TtsSection,
    /// Limits.
    pub conversation: ConversationSection,
    /// Map of language code to `{ "overrides": … }`.
    #[schema(value_type = Object)]
    pub language_presets: Map<String, Value>,
}

impl ConversationConfig {
    /// Returns the words that open a call, with these values for their placeholders: the announcement and the greeting.
    /// Blank if the agent waits for the user.
    pub fn opening(&self, variables: &BTreeMap<String, String>) -> String {
        let announcement = &self.conversation.listening_announcement;
        let announcement = template::render(Place::ListeningAnnouncement, announcement, variables);
        let greeting = self.agent.greeting_message.as_deref().unwrap_or_default();
        let greeting = template::render(Place::Greeting, greeting, variables);
        match announcement.trim() {
            "" => greeting,
            announcement => format!("{announcement} {greeting}"),
        }
    }
}

/// `agent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSection {
    /// Instructions, model, tools.
    pub prompt: PromptSection,
    /// Greeting, spoken first. If unset or blank, the agent waits for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting_message: Option<String>,
    /// Language code.
    pub primary_language: String,
    /// Hindi with English words; has an effect only if the language is Hindi.
    pub hinglish_mode: bool,
    /// Values of `{{placeholders}}`: strings, numbers, booleans.
    #[schema(value_type = Object)]
    pub dynamic_variables: Map<String, Value>,
    /// Whether the greeting is protected from barge-in.
    pub disable_first_message_interruptions: bool,
}

impl AgentSection {
    /// Returns whether it speaks Hinglish. The setting has an effect only with Hindi.
    pub fn is_hinglish(&self) -> bool {
        let language = self.primary_language.split(['-', '_']).next().unwrap_or_default();
        self.hinglish_mode && language.trim().eq_ignore_ascii_case("hi")
    }
}

impl Default for AgentSection {
    fn default() -> Self {
        Self {
            prompt: PromptSection::default(),
            greeting_message: None,
            primary_language: "en".into(),
            hinglish_mode: false,
            dynamic_variables: Map::new(),
            disable_first_message_interruptions: false,
        }
    }
}

/// Model name that selects the service's default (`RINGBACK_LLM`).
pub const DEFAULT_LLM: &str = "default";

/// Voice name that selects the service's default (`RINGBACK_TTS`). As a voice of a provider, such as
/// `elevenlabs:default`, it selects that provider's default.
pub const DEFAULT_VOICE: &str = "default";

/// `agent.prompt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptSection {
    /// Instructions.
    pub prompt: String,
    /// `provider/model`, `interviewer`, or `default`.
    pub llm: String,
    /// 0 to 2.
    #[serde(serialize_with = "figure::serialize")]
    pub temperature: f64,
    /// HTTP tools.
    pub tool_ids: Vec<String>,
    /// The six built-in tools.
    pub built_in_tools: BuiltInTools,
    /// Ids of documents and groups.
    pub knowledge_base: Vec<String>,
    /// Whether to leave out the default personality.
    pub ignore_default_personality: bool,
    /// IANA time zone.
    pub timezone: String,
}

impl Default for PromptSection {
    fn default() -> Self {
        Self {
            prompt: String::new(),
            llm: DEFAULT_LLM.into(),
            temperature: 0.0,
            tool_ids: Vec::new(),
            built_in_tools: BuiltInTools::default(),
            knowledge_base: Vec::new(),
            ignore_default_personality: false,
            timezone: "UTC".into(),
        }
    }
}

/// `asr`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AsrSection {
    /// Audio format requested from the recogniser. If it is not set, the line decides.
    #[serde(serialize_with = "audio_format::serialize")]
    #[schema(value_type = String, default = "pcm_16000")]
    pub user_input_audio_format: Option<String>,
    /// Terms that the recogniser favours.
    pub keywords: Vec<String>,
}

impl AsrSection {
    /// Returns the audio format that is set.
    pub fn format(&self) -> Option<AudioFormat> {
        AudioFormat::find(self.user_input_audio_format.as_deref()?)
    }
}

/// `turn`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnSection {
    /// Seconds of silence until the agent speaks up; -1 never.
    #[serde(serialize_with = "figure::serialize")]
    pub turn_timeout: f64,
    /// Seconds of silence until the call ends; -1 never.
    #[serde(serialize_with = "figure::serialize")]
    pub silence_end_call_timeout: f64,
    /// Length of the pause that ends the user's turn.
    pub turn_eagerness: TurnEagerness,
    /// Whether the agent waits longer while the user spells something.
    pub spelling_patience: SpellingPatience,
}

impl Default for TurnSection {
    fn default() -> Self {
        Self {
            turn_timeout: 7.0,
            silence_end_call_timeout: -1.0,
            turn_eagerness: TurnEagerness::Normal,
            spelling_patience: SpellingPatience::Auto,
        }
    }
}

/// `turnEagerness`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnEagerness {
    /// Long pauses are part of the turn.
    Patient,
    /// Pauses of medium length end the turn.
    Normal,
    /// Short pauses end the turn.
    Eager,
}

/// `spellingPatience`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpellingPatience {
    /// Waits longer while digits or letters are being spelled.
    Auto,
    /// Does not wait longer.
    Off,
}

/// One of `tts.supportedVoices`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SupportedVoice {
    /// Label for people and the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `provider:voice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice_id: Option<String>,
    /// Language code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "figure::serialize_some")]
    pub stability: Option<f64>,
    /// 0.5 to 2.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "figure::serialize_some")]
    pub speed: Option<f64>,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "figure::serialize_some")]
    pub similarity_boost: Option<f64>,
}

/// One of `tts.suggestedAudioTags`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AudioTag {
    /// The tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Description of when the tag fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One of `tts.pronunciationDictionary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PronunciationDictionary {
    /// Provider that keeps the dictionary. Voices of other providers do not use it.
    pub provider: String,
    /// Id of the dictionary at its provider.
    pub pronunciation_dictionary_id: String,
    /// Id of the dictionary's version. ElevenLabs requires it; Cartesia has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
}

/// `tts`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TtsSection {
    /// `provider:voice`, a bare voice of the default provider, or `default`.
    pub voice_id: String,
    /// Voices the model may switch to.
    pub supported_voices: Vec<SupportedVoice>,
    /// Whether audio tags may be used.
    pub expressive_mode: bool,
    /// Suggested tags.
    pub suggested_audio_tags: Vec<AudioTag>,
    /// Audio format requested from the synthesiser. If it is not set, the line decides.
    #[serde(serialize_with = "audio_format::serialize")]
    #[schema(value_type = String, default = "pcm_16000")]
    pub agent_output_audio_format: Option<String>,
    /// 0 to 4.
    pub optimize_streaming_latency: i64,
    /// 0 to 1.
    #[serde(serialize_with = "figure::serialize")]
    pub stability: f64,
    /// 0.5 to 2.
    #[serde(serialize_with = "figure::serialize")]
    pub speed: f64,
    /// 0 to 1.
    #[serde(serialize_with = "figure::serialize")]
    pub similarity_boost: f64,
    /// Dictionaries at the providers that say how words are spoken.
    #[schema(extensions(("x-ringback-extension" = json!(true))))]
    pub pronunciation_dictionary: Vec<PronunciationDictionary>,
}

impl TtsSection {
    /// Returns the audio format that is set.
    pub fn format(&self) -> Option<AudioFormat> {
        AudioFormat::find(self.agent_output_audio_format.as_deref()?)
    }

    /// Returns the supported voice that speaks this language by default, if `voiceId` names no voice.
    pub fn usual(&self, language: &str) -> Option<&SupportedVoice> {
        let is_named = self.voice_id != DEFAULT_VOICE;
        self.voice_of(language).filter(|_| !is_named)
    }

    /// Makes a supported voice the default one. Values that the voice leaves out stay as they are.
    pub(super) fn take(&mut self, voice: SupportedVoice) {
        if let Some(voice_id) = voice.voice_id {
            self.voice_id = voice_id;
        }
        self.stability = voice.stability.unwrap_or(self.stability);
        self.speed = voice.speed.unwrap_or(self.speed);
        self.similarity_boost = voice.similarity_boost.unwrap_or(self.similarity_boost);
    }

    /// Returns the supported voice for a language: one for exactly this language, otherwise one without a
    /// region or with another region.
    pub fn voice_of(&self, language: &str) -> Option<&SupportedVoice> {
        let code = |language: &str| language.trim().to_ascii_lowercase().replace('_', "-");
        let main = |language: &str| code(language).split('-').next().unwrap_or_default().to_owned();
        let spoken = |voice: &&SupportedVoice| voice.voice_id.is_some() && voice.language.is_some();
        let of = |voice: &SupportedVoice| voice.language.clone().unwrap_or_default();
        let mut voices = self.supported_voices.iter().filter(spoken);
        let just = voices.clone().find(|voice| code(&of(voice)) == code(language));
        just.or_else(|| voices.find(|voice| !main(language).is_empty() && main(&of(voice)) == main(language)))
    }
}

impl Default for TtsSection {
    fn default() -> Self {
        Self {
            voice_id: DEFAULT_VOICE.into(),
            supported_voices: Vec::new(),
            expressive_mode: false,
            suggested_audio_tags: Vec::new(),
            agent_output_audio_format: None,
            optimize_streaming_latency: 3,
            stability: 0.5,
            speed: 1.0,
            similarity_boost: 0.8,
            pronunciation_dictionary: Vec::new(),
        }
    }
}

/// `conversation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConversationSection {
    /// Longest duration from the answer, 1 to 14400 seconds.
    pub max_duration_seconds: i64,
    /// Words said before the greeting of every call, at most 200 characters: somebody may listen to it.
    #[schema(extensions(("x-ringback-extension" = json!(true))))]
    pub listening_announcement: String,
}

impl Default for ConversationSection {
    fn default() -> Self {
        Self {
            max_duration_seconds: 300,
            listening_announcement: String::new(),
        }
    }
}

/// Type of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = EntityType)]
pub enum EntityKind {
    /// Any text.
    #[default]
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
}

/// One of `dataCollection.entities`, with the fields that the service reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Entity {
    /// `type`.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// Meaning of the value, from which the question is made.
    pub description: String,
    /// Allowed values; any value if empty.
    #[serde(rename = "enum")]
    pub allowed: Vec<Value>,
}

impl Entity {
    /// Reads a free-form entity. Fields that cannot be read count as missing.
    pub fn read(given: &Value) -> Self {
        let kind = given.get("type").and_then(|kind| EntityKind::deserialize(kind).ok());
        let description = given.get("description").and_then(Value::as_str);
        let allowed = given.get("enum").and_then(Value::as_array);
        Self {
            kind: kind.unwrap_or_default(),
            description: description.unwrap_or_default().to_owned(),
            allowed: allowed.cloned().unwrap_or_default(),
        }
    }
}

/// Entities with their names, in the client's order.
pub type Entities = Vec<(String, Entity)>;
