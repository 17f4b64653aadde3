//! Language models, recognisers and voices of one service, as its settings name them.

use std::{path::Path, sync::Arc};

use domain::{
    agent::Agent,
    ports::{NotReady, transcriber::Transcriber},
    time::Clock,
    workflow::models_of_nodes,
};

use crate::{
    catalog::ProviderCatalog,
    endpoint::NotConfigured,
    llm::LanguageModels,
    provider::NoVoice,
    service::{
        config::ProviderConfig,
        health::{Find, Health},
    },
    settings::InvalidAddress,
    stt::SpeechToText,
    tts::{TextToSpeech, VoicesError},
};
use net::guard::{Guards, Kind};

/// Reason why the configured providers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An environment variable does not hold an address.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// A language model is unknown or not configured.
    #[error("RINGBACK_LLM: {0}")]
    LanguageModel(NotConfigured),
    /// A recogniser is unknown or not configured.
    #[error("RINGBACK_STT: {0}")]
    Recogniser(NotConfigured),
    /// The voices cannot be set up.
    #[error(transparent)]
    Voices(#[from] VoicesError),
    /// The HTTP client of the catalog cannot be built.
    #[error("cannot build the HTTP client: {0}")]
    Catalog(String),
    /// A voice does not exist.
    #[error("RINGBACK_TTS: {0}")]
    NoVoice(NoVoice),
}

/// All providers of a service.
pub struct Configured {
    /// Language models.
    pub llm: Arc<LanguageModels>,
    /// Speech to text.
    pub stt: Arc<SpeechToText>,
    /// Text to speech.
    pub tts: Arc<TextToSpeech>,
    /// Voices and models that the providers offer.
    pub catalog: Arc<ProviderCatalog>,
    /// Guards of all providers.
    pub guards: Guards,
}

impl Configured {
    /// Sets up the providers. `babble` is the embedded recogniser. Synthesised speech is cached in the folder
    /// `cache`, or only in memory if that is `None`.
    /// The error names the missing variables.
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
        let catalog = ProviderCatalog::new(&settings, tts.named(), llm.named());
        let catalog = catalog.map_err(|error| ConfigError::Catalog(error.to_string()))?;
        Ok(Self {
            llm: Arc::new(llm),
            stt: Arc::new(stt),
            tts: Arc::new(tts),
            catalog: Arc::new(catalog),
            guards,
        })
    }

    /// Checks that the voices in the settings exist, as far as this machine can tell. A program that is
    /// unavailable is only logged, as it may be installed while the service runs. `ringback providers check`
    /// finds out which voices a remote provider has.
    /// The error offers similar names.
    pub async fn check_names(&self) -> Result<(), ConfigError> {
        match self.tts.check_names().await {
            Err(NoVoice::Unasked(why)) => {
                tracing::warn!(error = %why, "voices of RINGBACK_TTS not checked");
                Ok(())
            }
            checked => checked.map_err(ConfigError::NoVoice),
        }
    }

    /// Checks that an agent's model and voices are configured.
    /// The error names the variable to set.
    pub fn ready_for(&self, agent: &Agent) -> Result<(), NotReady> {
        self.ready_in_text(agent)?;
        let config = &agent.conversation_config;
        let others = config.tts.supported_voices.iter();
        let others = others.filter_map(|voice| voice.voice_id.as_deref());
        others
            .chain([config.tts.voice_id.as_str()])
            .try_for_each(|voice| self.tts.check(voice))
    }

    /// Checks that an agent's models are configured: its own, that of its graph and those of the graph's nodes.
    /// The error names the variable to set.
    pub fn ready_in_text(&self, agent: &Agent) -> Result<(), NotReady> {
        let router = agent.workflow.router.as_deref();
        let models = [agent.conversation_config.agent.prompt.llm.as_str()];
        models
            .into_iter()
            .chain(router)
            .try_for_each(|model| self.llm.check(model))?;
        models_of_nodes(&agent.workflow).try_for_each(|(path, model)| {
            let checked = self.llm.check(&model);
            checked.map_err(|NotReady(why)| NotReady(format!("`{path}`: {why}")))
        })
    }

    /// Returns the health check that tells whether an agent's calls can be held.
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
