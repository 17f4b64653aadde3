//! Choice of providers, from flags and environment variables.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use net::setting::TrueOrFalse;

use crate::{
    endpoint::Privacy,
    name::ProviderName,
    protocols::llm::format::Format,
    registry::{DEFAULT_LLM, DEFAULT_SPEECH, PROVIDERS},
    settings::{InvalidAddress, ProviderSettings},
};

/// Providers of speech recognition, speech synthesis and language models.
#[derive(Debug, Clone, Args)]
pub struct ProviderConfig {
    /// Speech-to-text provider, as provider or provider/model; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_STT", default_value = DEFAULT_SPEECH, value_delimiter = ',')]
    pub stt: Vec<ProviderName>,

    /// Text-to-speech provider, as provider or provider:voice; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_TTS", default_value = DEFAULT_SPEECH, value_delimiter = ',')]
    pub tts: Vec<ProviderName>,

    /// Language model, as provider/model; separate fallbacks with commas
    #[arg(long, env = "RINGBACK_LLM", default_value = DEFAULT_LLM, value_delimiter = ',')]
    pub llm: Vec<ProviderName>,

    /// Format of the text of language models on your own servers, if their names do not tell
    #[arg(long, env = "RINGBACK_LLM_FORMAT", value_enum, default_value_t = Format::Auto)]
    pub llm_format: Format,

    /// Embeddings model, as provider/model; finds passages of documents by meaning even if the caller uses
    /// other words [default: none, passages are found by their words]
    #[arg(long, env = "RINGBACK_EMBEDDINGS")]
    pub embeddings: Option<ProviderName>,

    /// Providers that are asked not to store speech
    #[command(flatten)]
    pub privacy: PrivacyChoices,

    /// Addresses and keys [default: the providers' own environment variables]
    #[arg(skip)]
    pub settings: Option<ProviderSettings>,
}

impl Default for ProviderConfig {
    /// The embedded language model and speech, which need no configuration.
    fn default() -> Self {
        Self {
            stt: vec![ProviderName::of(DEFAULT_SPEECH)],
            tts: vec![ProviderName::of(DEFAULT_SPEECH)],
            llm: vec![ProviderName::of(DEFAULT_LLM)],
            llm_format: Format::Auto,
            embeddings: None,
            privacy: PrivacyChoices::default(),
            settings: None,
        }
    }
}

impl ProviderConfig {
    /// Returns the providers' addresses and keys.
    pub fn settings(&self) -> Result<ProviderSettings, InvalidAddress> {
        let settings = self.settings.clone();
        let mut settings = settings.map_or_else(ProviderSettings::from_environment, Ok)?;
        settings.format = self.llm_format;
        for provider in &self.privacy.asked {
            settings.ask_for_privacy(provider);
        }
        Ok(settings)
    }
}

/// Providers that are asked not to store speech, from a setting of each that can be asked.
#[derive(Debug, Clone, Default)]
pub struct PrivacyChoices {
    asked: Vec<&'static str>,
}

fn privacies() -> impl Iterator<Item = (&'static str, &'static Privacy)> {
    PROVIDERS.iter().filter_map(|provider| {
        let address = provider.address.as_ref()?;
        Some((provider.name, address.privacy.as_ref()?))
    })
}

impl Args for PrivacyChoices {
    fn augment_args(command: Command) -> Command {
        privacies().fold(command, |command, (_, privacy)| {
            let argument = Arg::new(privacy.argument)
                .long(privacy.argument)
                .env(privacy.variable)
                .value_name(privacy.variable.trim_start_matches("RINGBACK_"))
                .help(privacy.help)
                .default_value(privacy.default)
                .action(ArgAction::Set)
                .value_parser(TrueOrFalse);
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PrivacyChoices {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_asked = |privacy: &Privacy| {
            let value = matches.get_one::<bool>(privacy.argument);
            value.is_some_and(|value| value.to_string() != privacy.default)
        };
        let asked = privacies().filter(|(_, privacy)| is_asked(privacy));
        Ok(Self {
            asked: asked.map(|(provider, _)| provider).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
