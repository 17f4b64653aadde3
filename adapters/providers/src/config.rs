//! Choice of providers, from flags and environment variables.

use clap::{ArgAction, Args};
use net::setting::TrueOrFalse;

use crate::{
    format::Format,
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

    /// Format of the text of language models on your own servers, if their names do not tell
    #[arg(long, env = "RINGBACK_LLM_FORMAT", value_enum, default_value_t = Format::Auto)]
    pub llm_format: Format,

    /// Embeddings model, as provider/model; finds passages of documents by meaning even if the caller uses
    /// other words [default: none, passages are found by their words]
    #[arg(long, env = "RINGBACK_EMBEDDINGS")]
    pub embeddings: Option<ProviderName>,

    /// Whether Deepgram is asked not to use audio and texts to improve its models; its price may be higher
    #[arg(long, env = "RINGBACK_DEEPGRAM_MIP_OPT_OUT", default_value_t = false, action = ArgAction::Set,
          value_parser = TrueOrFalse)]
    pub deepgram_mip_opt_out: bool,

    /// Whether ElevenLabs may keep audio and texts; `false` needs an enterprise account there
    #[arg(long, env = "RINGBACK_ELEVENLABS_LOGGING", default_value_t = true, action = ArgAction::Set,
          value_parser = TrueOrFalse)]
    pub elevenlabs_logging: bool,

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
            llm_format: Format::Auto,
            embeddings: None,
            deepgram_mip_opt_out: false,
            elevenlabs_logging: true,
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
        let settings = self.settings.clone();
        let mut settings = settings.map_or_else(ProviderSettings::from_environment, Ok)?;
        settings.format = self.llm_format;
        if self.deepgram_mip_opt_out {
            settings.ask_for_privacy("deepgram", ("mip_opt_out", "true"));
        }
        if !self.elevenlabs_logging {
            settings.ask_for_privacy("elevenlabs", ("enable_logging", "false"));
        }
        Ok(settings)
    }
}
