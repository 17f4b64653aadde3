//! Choice of providers, from flags and environment variables.

use clap::Args;

use crate::{
    name::ProviderName,
    settings::{InvalidAddress, ProviderSettings},
};

/// Providers of speech recognition, speech synthesis and language models.
#[derive(Debug, Clone, Args)]
pub struct ProviderConfig {
    /// Speech-to-text provider, as provider or provider/model; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_STT", default_value = "babble", value_delimiter = ',')]
    pub stt: Vec<ProviderName>,

    /// Text-to-speech provider, as provider or provider:voice; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_TTS", default_value = "babble", value_delimiter = ',')]
    pub tts: Vec<ProviderName>,

    /// Language model, as provider/model; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_LLM", default_value = "interviewer", value_delimiter = ',')]
    pub llm: Vec<ProviderName>,

    /// Embeddings model, as provider/model; finds passages of documents by meaning even if the caller uses
    /// other words [default: none, passages are found by their words]
    #[arg(long, env = "RINGBACK_EMBEDDINGS")]
    pub embeddings: Option<ProviderName>,

    /// Addresses and keys [default: the providers' own environment variables]
    #[arg(skip)]
    pub settings: Option<ProviderSettings>,
}

impl Default for ProviderConfig {
    /// The embedded language model and speech, which need no configuration.
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
    /// Returns the providers' addresses and keys.
    ///
    /// # Errors
    ///
    /// Returns an error if an environment variable does not hold a valid address.
    pub fn settings(&self) -> Result<ProviderSettings, InvalidAddress> {
        self.settings
            .clone()
            .map_or_else(ProviderSettings::from_environment, Ok)
    }
}
