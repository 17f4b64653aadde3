//! Text to speech: the choice of the provider that speaks for an agent, the failover to others, and the cache
//! of speech.

mod cache;
mod connections;
mod directions;
mod failover;
mod guarded;
mod probe;
mod sound_check;

use std::{path::PathBuf, sync::Arc, time::Duration};

use domain::{
    agent::{Agent, DEFAULT_VOICE},
    ports::{
        NotReady,
        synthesizer::{Likely, SpeechError, SpeechStream, Synthesizer, Voice, VoiceConfig},
        usage::Meter,
    },
};
use futures_util::{StreamExt, stream};
use media::session::Cue;
use tokio::time::timeout;

pub use self::probe::ProbeReport;
use self::{
    cache::SpeechCache,
    connections::{Candidate, Connections},
    directions::Script,
    failover::Failover,
};
use crate::{
    endpoint::NotConfigured,
    failure::probe::ProbeError,
    name::{ProviderName, is_segment, is_sound},
    protocols::tts::{http_audio, provider::SourceSettings},
    provider::{NoVoice, TtsWay},
    registry,
    settings::ProviderSettings,
};
use net::guard::{Guard, Guards, Kind};

/// Maximum number of texts that one call may synthesise ahead at once.
const MOST_PREPARED: usize = 3;
/// Time limit for synthesising ahead.
const PREPARED_WITHIN: Duration = Duration::from_secs(15);

/// Reason why the voices cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum VoicesError {
    /// A configured provider cannot be used.
    #[error("RINGBACK_TTS: {0}")]
    NotConfigured(#[from] NotConfigured),
    /// The folder of the speech cache cannot be used.
    #[error("cannot use the speech cache in {folder}: {error}")]
    Cache {
        /// Folder of the cache.
        folder: String,
        /// Cause.
        error: std::io::Error,
    },
}

/// All voices of the service. It speaks with the voice that an agent names, or with the first configured one.
/// If that one fails, it goes on with the other configured voices.
pub struct TextToSpeech {
    choices: Vec<ProviderName>,
    settings: ProviderSettings,
    guards: Guards,
    cache: SpeechCache,
    client: reqwest::Client,
}

impl TextToSpeech {
    /// Sets up the configured providers. The first is the default; without any it is `babble`. With a folder,
    /// the cache also keeps speech on disk.
    pub fn new(
        choices: Vec<ProviderName>,
        settings: &ProviderSettings,
        guards: &Guards,
        cache_folder: Option<PathBuf>,
    ) -> Result<Self, VoicesError> {
        let cache = SpeechCache::open(cache_folder.as_deref()).map_err(|error| VoicesError::Cache {
            folder: cache_folder.unwrap_or_default().display().to_string(),
            error,
        })?;
        let voices = Self {
            choices: match choices.is_empty() {
                true => vec![ProviderName::of(registry::DEFAULT_SPEECH)],
                false => choices,
            },
            settings: settings.clone(),
            guards: guards.clone(),
            cache,
            client: http_audio::client(),
        };
        for choice in &voices.choices {
            voices.candidate(choice, "")?;
        }
        Ok(voices)
    }

    /// Checks that an agent may have this voice: `default`, `provider:voice`, or a voice of the default provider.
    pub fn check(&self, voice_id: &str) -> Result<(), NotReady> {
        let (provider, voice) = parted(voice_id);
        let wanted = wanted(&self.choices, provider, voice);
        self.candidate(&wanted, voice)
            .map(|_| ())
            .map_err(|why| NotReady(format!("voice `{voice_id}`: {why}")))
    }

    /// Returns the provider of each configured voice, with the voice, which is empty if the provider has only one.
    pub(crate) fn named(&self) -> Vec<(String, String)> {
        let candidates = self.choices.iter().map(|choice| self.candidate(choice, ""));
        candidates
            .filter_map(Result::ok)
            .map(|candidate| (candidate.provider, candidate.voice))
            .collect()
    }

    /// Drops speech from memory that was said to people, when a person's data are to be erased.
    pub fn forget_people(&self) {
        self.cache.forget_people();
    }

    /// Checks that the configured voices exist, as far as this machine can tell. Those of hosted providers are
    /// known only to them.
    pub async fn check_names(&self) -> Result<(), NoVoice> {
        for choice in &self.choices {
            let tts = registry::find(&choice.provider).and_then(|provider| provider.tts.as_ref());
            if let Some(TtsWay::Inside { check: Some(check), .. }) = tts.map(|tts| &tts.way) {
                check(choice).await?;
            }
        }
        Ok(())
    }

    /// Returns the guards of the providers that could speak for an agent. The list is empty if one of them
    /// runs inside this process, since that one is never down.
    pub fn guards(&self, agent: &Agent) -> Vec<Guard> {
        let config = &agent.conversation_config;
        // Another voice that a reply asks for may be down. Its words are then said in the service's own voice.
        let usual = config.tts.usual(&config.agent.primary_language);
        let usual = usual.and_then(|voice| voice.voice_id.as_deref());
        let (provider, voice) = parted(usual.unwrap_or(&config.tts.voice_id));
        let candidates = self.candidates(provider, voice);
        let guards: Option<_> = candidates.into_iter().map(|candidate| candidate.guard).collect();
        guards.unwrap_or_default()
    }

    /// Lets a provider speak a text, bypassing the cache and its guard, to see whether it works.
    pub async fn probe(&self, name: &ProviderName) -> Result<ProbeReport, ProbeError> {
        let candidate = self.candidate(name, "")?;
        probe::probe(&candidate).await
    }

    /// Returns the agent's provider with its voice, followed by the configured choices of other providers.
    fn candidates(&self, provider: Option<&str>, voice: &str) -> Vec<Candidate> {
        let wanted = wanted(&self.choices, provider, voice);
        let first = self.candidate(&wanted, voice);
        let others = self.choices.iter().filter(|choice| choice.provider != wanted.provider);
        let others = others.map(|choice| self.candidate(choice, ""));
        // A provider that was configured when the agent was made may not be configured any more.
        std::iter::once(first).chain(others).filter_map(Result::ok).collect()
    }

    fn candidate(&self, name: &ProviderName, voice: &str) -> Result<Candidate, NotConfigured> {
        let odd_model = name.model.as_deref().filter(|model| !is_sound(model));
        let odd_voice = [Some(voice).filter(|voice| !voice.is_empty()), name.voice.as_deref()]
            .into_iter()
            .flatten()
            .find(|voice| !is_segment(voice));
        if let Some(odd) = odd_model.or(odd_voice) {
            return Err(NotConfigured::Odd(odd.to_owned()));
        }
        let (provider, tts) = registry::offering(&name.provider, "speech synthesis", |known| known.tts.as_ref())?;
        let source = match tts.way {
            TtsWay::Inside { source, .. } => source(),
            TtsWay::Hosted(source) => source(SourceSettings {
                endpoint: self.settings.endpoint(provider.name)?.clone(),
                model: name.model.clone(),
                usual_model: tts.model,
                client: self.client.clone(),
            }),
        };
        let named_model = name.model.as_deref().filter(|_| tts.voices_are_models);
        let named = name.voice.as_deref().or(named_model);
        let agents = voice;
        let voice = [voice, named.unwrap_or_default(), tts.voice];
        // A voice or a model that only an agent names has its own guard.
        let listed = self.choices.iter().any(|choice| choice == name) || self.choices.is_empty();
        let own = match name.model.as_deref().filter(|_| !listed) {
            Some(model) => format!("{model}/{agents}"),
            None => agents.to_owned(),
        };
        Ok(Candidate {
            provider: name.provider.clone(),
            voice: voice
                .into_iter()
                .find(|voice| !voice.is_empty())
                .unwrap_or_default()
                .to_owned(),
            guard: provider
                .address
                .as_ref()
                .map(|_| self.guards.get_named(Kind::TextToSpeech, &name.provider, &own)),
            source,
        })
    }
}

/// Splits a guard's name into model and voice if it has a model. A voice contains no slash.
pub(crate) fn model_and_voice(name: &str) -> Option<(&str, Option<&str>)> {
    let (model, voice) = name.rsplit_once('/')?;
    Some((model, Some(voice).filter(|voice| !voice.is_empty())))
}

/// Returns the choice for an agent's provider. If the provider is among the service's choices, its model there is used.
pub(crate) fn wanted(choices: &[ProviderName], provider: Option<&str>, voice: &str) -> ProviderName {
    let Some(provider) = provider else {
        let first = choices.first().cloned();
        return first.unwrap_or_else(|| ProviderName::of(registry::DEFAULT_SPEECH));
    };
    let name: Option<ProviderName> = provider.parse().ok();
    let name = name.unwrap_or_else(|| ProviderName::of(provider));
    let listed = choices.iter().find(|choice| choice.provider == name.provider);
    match listed.filter(|_| name.model.is_none()) {
        Some(listed) => ProviderName {
            voice: listed.voice.clone().filter(|_| voice.is_empty()),
            ..listed.clone()
        },
        None => name,
    }
}

/// Splits an agent's `voiceId` into provider and voice.
pub(crate) fn parted(voice_id: &str) -> (Option<&str>, &str) {
    let (provider, voice) = match voice_id.split_once(':') {
        Some((provider, voice)) => (Some(provider), voice),
        None => (None, voice_id),
    };
    (provider, if voice == DEFAULT_VOICE { "" } else { voice })
}

impl Synthesizer for TextToSpeech {
    /// Opens a voice. Must be called within a tokio runtime, because sockets are opened at once.
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice> {
        let candidates = self.candidates(config.provider.as_deref(), &config.voice);
        let lines = Arc::new(Connections::new(candidates, config, self.cache.clone()));
        lines.warm_up();
        Box::new(RelayVoice {
            lines,
            prepared: Arc::new(tokio::sync::Semaphore::new(MOST_PREPARED)),
        })
    }

    /// Answers for the provider that speaks when all is well.
    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        let candidates = self.candidates(config.provider.as_deref(), &config.voice);
        candidates.first().is_some_and(|first| first.source.takes_cues(config))
    }
}

/// Voice of one call.
struct RelayVoice {
    lines: Arc<Connections>,
    prepared: Arc<tokio::sync::Semaphore>,
}

impl Voice for RelayVoice {
    fn speak(&mut self, text: String) -> SpeechStream {
        self.perform(text, Vec::new())
    }

    fn perform(&mut self, text: String, cues: Vec<Cue>) -> SpeechStream {
        if self.lines.count() == 0 {
            let error = SpeechError::Rejected("no voice is configured: set RINGBACK_TTS".into());
            return stream::iter([Err(error)]).boxed();
        }
        stream::unfold(
            Failover::new(self.lines.clone(), Script { text, cues }),
            async |mut relay| {
                let item = relay.next().await?;
                Some((item, relay))
            },
        )
        .boxed()
    }

    fn prepare(&mut self, likely: &Likely) {
        let text = likely.text.as_str();
        if likely.fixed {
            self.lines.may_keep(text);
        }
        let Ok(permit) = self.prepared.clone().try_acquire_owned() else {
            return;
        };
        if let Some(mut pieces) = self.lines.fetched(text) {
            tokio::spawn(async move {
                let fetching = async { while let Some(Ok(_)) = pieces.next().await {} };
                // A failed text is requested again when it is spoken.
                let _ = timeout(PREPARED_WITHIN, fetching).await;
                drop(permit);
            });
        }
    }
}

/// Returns the settings for a probe: those of an agent by default, on a telephone line.
pub(crate) fn plain_config(voice: &str) -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: voice.to_owned(),
        language: "en".into(),
        sample_rate: 8_000,
        format: None,
        speed: 1.0,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        dictionaries: Vec::new(),
        meter: Meter::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn voices_at(host: &str) -> TextToSpeech {
        let settings = ProviderSettings::read(|name| match name {
            name if name.ends_with("_BASE_URL") => Some(format!("http://{host}/v1")),
            name if name.ends_with("_API_KEY") => Some("a key of theirs".into()),
            _ => None,
        });
        TextToSpeech::new(Vec::new(), &settings.unwrap(), &Guards::default(), None).unwrap()
    }

    #[test]
    fn speech_by_another_dictionary_is_other_speech() {
        for provider in ["elevenlabs", "cartesia"] {
            let candidate = voices_at("one.example")
                .candidate(&ProviderName::of(provider), "")
                .unwrap();
            let by = |of: &str, version: &str| {
                let dictionary = json!({ "provider": of, "pronunciationDictionaryId": "d", "versionId": version });
                let dictionaries = vec![serde_json::from_value(dictionary).unwrap()];
                candidate.source.signature(&VoiceConfig {
                    dictionaries,
                    ..plain_config("")
                })
            };
            assert_ne!(by(provider, "1"), by(provider, "2"), "{provider}");
            assert_eq!(
                by("another", "1"),
                candidate.source.signature(&plain_config("")),
                "{provider}"
            );
        }
    }

    #[test]
    fn what_one_server_said_is_not_taken_for_anothers() {
        for provider in ["elevenlabs", "cartesia", "deepgram", "openai", "kokoro", "speaches"] {
            let signatures = ["one.example", "two.example"].map(|host| {
                let candidate = voices_at(host).candidate(&ProviderName::of(provider), "").unwrap();
                candidate.source.signature(&plain_config(""))
            });
            assert_ne!(signatures[0], signatures[1], "{provider}");
        }
    }
}
