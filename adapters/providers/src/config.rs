//! Which providers the service uses, from flags and environment.

use clap::Args;

use crate::{
    name::ProviderName,
    settings::{InvalidAddress, ProviderSettings},
};

/// Recognition, synthesis and language.
#[derive(Debug, Clone, Args)]
pub struct ProviderConfig {
    /// Speech-to-text provider, as provider or provider/model; after a comma others that take over from it
    #[arg(long, env = "RINGBACK_STT", default_value = "babble", value_delimiter = ',')]
    pub stt: Vec<ProviderName>,

    /// Text-to-speech provider, as provider or provider:voice; after a comma others that take over from it
    #[arg(long, env = "RINGBACK_TTS", default_value = "babble", value_delimiter = ',')]
    pub tts: Vec<ProviderName>,

    /// Language model, as provider/model; after a comma others that take over from it
    #[arg(long, env = "RINGBACK_LLM", default_value = "interviewer", value_delimiter = ',')]
    pub llm: Vec<ProviderName>,

    /// Model that compares the meaning of texts, as provider/model: finds passages of documents that have other words than
    /// the caller [default: none, passages are found by their words]
    #[arg(long, env = "RINGBACK_EMBEDDINGS")]
    pub embeddings: Option<ProviderName>,

    /// Addresses and keys [default: the providers' own environment variables]
    #[arg(skip)]
    pub settings: Option<ProviderSettings>,
}

impl Default for ProviderConfig {
    /// The embedded language and speech, which need nothing.
    fn default() -> Self {
        Self {
            stt: vec![ProviderName::of("babble")],
            tts: vec![ProviderName::of("babble")],
            llm: vec![ProviderName::of("interviewer")],
            embeddings: None,
            settings: None,
        }
    }
}

impl ProviderConfig {
    /// Addresses and keys.
    ///
    /// # Errors
    ///
    /// When an address in the environment is none.
    pub fn settings(&self) -> Result<ProviderSettings, InvalidAddress> {
        self.settings
            .clone()
            .map_or_else(ProviderSettings::from_environment, Ok)
    }
}
