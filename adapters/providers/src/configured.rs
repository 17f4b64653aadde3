//! The language models, recognisers and voices of one service, as its settings name them.

use std::{path::Path, sync::Arc};

use domain::{
    agent::Agent,
    ports::{NotReady, transcriber::Transcriber},
    time::Clock,
};

use super::{
    health::{Find, Health},
    settings::{InvalidAddress, NotConfigured},
};
use crate::{
    config::ProviderConfig,
    llm::LanguageModels,
    stt::SpeechToText,
    tts::{NoVoice, TextToSpeech, VoicesError},
};
use net::guard::{Guards, Kind};

/// Why the providers of the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An environment variable does not hold an address.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// A language model is not known or not configured.
    #[error("RINGBACK_LLM: {0}")]
    LanguageModel(NotConfigured),
    /// A recogniser is not known or not configured.
    #[error("RINGBACK_STT: {0}")]
    Recogniser(NotConfigured),
    /// The voices cannot be set up.
    #[error(transparent)]
    Voices(#[from] VoicesError),
    /// A voice does not exist.
    #[error("RINGBACK_TTS: {0}")]
    NoVoice(NoVoice),
}

/// Language, and speech in and out.
pub struct Configured {
    /// Language models.
    pub llm: Arc<LanguageModels>,
    /// Speech to text.
    pub stt: Arc<SpeechToText>,
    /// Text to speech.
    pub tts: Arc<TextToSpeech>,
    /// Of all of them.
    pub guards: Guards,
}

impl Configured {
    /// Brings them together. `babble` is the embedded recogniser; speech that was made once is kept in `cache`, and in
    /// memory only without one.
    ///
    /// # Errors
    ///
    /// When a provider is not known, or its key or address is missing; the text names the variables.
    pub fn new(
        config: &ProviderConfig,
        babble: Arc<dyn Transcriber>,
        cache: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let named_here = [&config.llm, &config.stt, &config.tts];
        let settings = config.settings()?.only_named_or_set(named_here.into_iter().flatten());
        let guards = Guards::default();
        let llm = LanguageModels::new(config.llm.clone(), &settings, &guards).map_err(ConfigError::LanguageModel)?;
        let stt = SpeechToText::new(config.stt.clone(), &settings, &guards, babble).map_err(ConfigError::Recogniser)?;
        let cache = cache.map(Path::to_owned);
        let tts = TextToSpeech::new(config.tts.clone(), &settings, &guards, cache)?;
        Ok(Self {
            llm: Arc::new(llm),
            stt: Arc::new(stt),
            tts: Arc::new(tts),
            guards,
        })
    }

    /// Whether the settings name voices that are not there, as far as this machine can tell. A program that is away
    /// may be installed while the service runs; what a provider has, `ringback providers check` finds out.
    ///
    /// # Errors
    ///
    /// When one is not there; the text names those that are near.
    pub async fn check_names(&self) -> Result<(), ConfigError> {
        match self.tts.check_names().await {
            Err(NoVoice::Unasked(why)) => {
                tracing::warn!("RINGBACK_TTS: {why}");
                Ok(())
            }
            checked => checked.map_err(ConfigError::NoVoice),
        }
    }

    /// Whether an agent's model and voice are configured.
    ///
    /// # Errors
    ///
    /// When one is not; the text names the variable to set.
    pub fn ready_for(&self, agent: &Agent) -> Result<(), NotReady> {
        let config = &agent.conversation_config;
        self.llm.check(&config.agent.prompt.llm)?;
        let others = config.tts.supported_voices.iter();
        let others = others.filter_map(|voice| voice.voice_id.as_deref());
        others
            .chain([config.tts.voice_id.as_str()])
            .try_for_each(|voice| self.tts.check(voice))
    }

    /// Knows whether an agent's calls can be held.
    pub fn health(&self, clock: Arc<dyn Clock>) -> Health {
        let (llm, stt, tts) = (self.llm.clone(), self.stt.clone(), self.tts.clone());
        let kinds: Vec<(Kind, Find)> = vec![
            (Kind::LanguageModel, Box::new(move |agent| llm.guards(agent))),
            (Kind::SpeechToText, Box::new(move |_| stt.guards())),
            (Kind::TextToSpeech, Box::new(move |agent| tts.guards(agent))),
        ];
        Health::new(kinds, clock)
    }
}
