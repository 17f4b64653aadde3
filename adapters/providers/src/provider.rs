//! Declaration of a provider: what it offers and how it is reached. All lists, settings and checks are read from it.

use std::{sync::Arc, time::Duration};

use domain::{
    agent::Agent,
    ports::{language_model::LanguageModel, transcriber::TranscriberConfig},
};
use futures_util::future::BoxFuture;

use crate::{
    endpoint::{Address, Endpoint},
    name::ProviderName,
    protocols::{
        llm::api::LanguageApi,
        stt::RecogniserProtocol,
        tts::{
            provider::{Source, SourceSettings},
            takes::Takes,
        },
    },
};

/// A provider. It offers what is set.
pub struct Provider {
    /// Name, as in the settings.
    pub name: &'static str,
    /// How it is reached; `None` for one inside this process or on this machine.
    pub address: Option<Address>,
    /// Its language models.
    pub(crate) llm: Option<Llm>,
    /// Its recognisers.
    pub(crate) stt: Option<Stt>,
    /// Its voices.
    pub(crate) tts: Option<Tts>,
    /// Whether it offers `/embeddings` as OpenAI does.
    pub(crate) embeddings: bool,
    /// Where it lists its language models.
    pub(crate) models: Option<List>,
    /// Where it lists its voices.
    pub(crate) voices: Option<List>,
    /// Models that it ends, with the day, or the month if only that is known.
    pub ends: &'static [(&'static str, &'static str)],
}

/// Language models of a provider.
pub(crate) struct Llm {
    /// Model used if none is named, a fast one that suits calls. Empty if its operator chooses the names.
    pub model: &'static str,
    pub way: LlmWay,
}

/// Way of asking a language model.
pub(crate) enum LlmWay {
    /// Inside this process, with a function that says which settings of an agent it cannot follow.
    Inside(&'static dyn LanguageModel, fn(&Agent) -> Vec<String>),
    Api(&'static dyn LanguageApi),
}

/// Recognisers of a provider.
pub(crate) struct Stt {
    /// Model used if none is named.
    pub model: &'static str,
    pub way: SttWay,
}

/// Way of sending audio to a recogniser.
pub(crate) enum SttWay {
    /// To the recogniser inside this process.
    Inside,
    /// On a socket, as the user speaks.
    Socket {
        /// Opens the protocol of a model.
        open: fn(&Endpoint, Option<&str>, &TranscriberConfig) -> Box<dyn RecogniserProtocol>,
        /// Models with a protocol of their own, beside the usual one.
        #[cfg_attr(not(feature = "fuzzing"), expect(dead_code, reason = "fuzzers read every protocol"))]
        others: &'static [&'static str],
        /// Returns the sample rate that a model takes in place of another.
        sample_rate: fn(Option<&str>, u32) -> u32,
    },
    /// One request to `/audio/transcriptions` for each utterance.
    Clips {
        /// Time of the slowest hundredth of answers after the end of the speech; 1 s if there are no measurements.
        final_within: Duration,
        /// Whether it only accepts files with 16 kHz.
        wideband: bool,
    },
}

impl Llm {
    /// Returns language models behind an API.
    pub(crate) const fn api(model: &'static str, api: &'static dyn LanguageApi) -> Option<Self> {
        let way = LlmWay::Api(api);
        Some(Self { model, way })
    }
}

impl Stt {
    /// Returns a recogniser of whole utterances.
    pub(crate) const fn clips(model: &'static str, final_within_ms: u64) -> Option<Self> {
        let way = SttWay::Clips {
            final_within: Duration::from_millis(final_within_ms),
            wideband: false,
        };
        Some(Self { model, way })
    }
}

impl Tts {
    /// Returns voices at an address, which take no settings.
    pub(crate) const fn hosted(
        model: &'static str,
        voice: &'static str,
        source: fn(SourceSettings) -> Arc<dyn Source>,
    ) -> Self {
        Self {
            model,
            voice,
            voices_are_models: false,
            way: TtsWay::Hosted(source),
            takes: |_| Takes::NOTHING,
        }
    }

    /// Returns voices on this machine, which take no settings.
    pub(crate) const fn inside(source: fn() -> Arc<dyn Source>, check: Option<CheckVoice>) -> Self {
        Self {
            model: "",
            voice: "",
            voices_are_models: false,
            way: TtsWay::Inside { source, check },
            takes: |_| Takes::NOTHING,
        }
    }
}

/// Function that finds out whether a voice exists.
pub(crate) type CheckVoice = fn(&ProviderName) -> BoxFuture<'_, Result<(), NoVoice>>;

/// Voices of a provider.
pub(crate) struct Tts {
    /// Model used if none is named.
    pub model: &'static str,
    /// Voice used if none is named.
    pub voice: &'static str,
    /// Whether a name's model is a voice.
    pub voices_are_models: bool,
    pub way: TtsWay,
    /// Returns the settings that the voices of a model take.
    pub takes: fn(Option<&str>) -> Takes,
}

/// Way of speaking.
pub(crate) enum TtsWay {
    /// On this machine.
    Inside {
        source: fn() -> Arc<dyn Source>,
        check: Option<CheckVoice>,
    },
    /// At an address, with the named model.
    Hosted(fn(SourceSettings) -> Arc<dyn Source>),
}

/// Reason why a voice is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoVoice {
    /// The program cannot be run.
    #[error("{0}")]
    Unasked(String),
    /// The program has no voice with this name.
    #[error("{0}")]
    Unknown(String),
}

/// Address and shape of a list of models or voices.
pub(crate) struct List {
    pub path: &'static str,
    /// Field with the items.
    pub items: &'static str,
    /// Query parameter with the place of the next page.
    pub page: Option<&'static str>,
}

/// List of language models as OpenAI has it.
pub(crate) const MODELS: List = List {
    path: "/models",
    items: "data",
    page: None,
};

/// Models and voices of a provider that is named alone. A field is empty if there is none.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// Language model.
    pub llm: &'static str,
    /// Recogniser.
    pub stt: &'static str,
    /// Model of the voices.
    pub tts: &'static str,
    /// Voice.
    pub voice: &'static str,
}

impl Provider {
    /// A provider that offers nothing.
    pub(crate) const NONE: Self = Self {
        name: "",
        address: None,
        llm: None,
        stt: None,
        tts: None,
        embeddings: false,
        models: None,
        voices: None,
        ends: &[],
    };

    /// Returns the models and the voice that are used if none is named.
    pub fn defaults(&self) -> Defaults {
        Defaults {
            llm: self.llm.as_ref().map_or("", |llm| llm.model),
            stt: self.stt.as_ref().map_or("", |stt| stt.model),
            tts: self.tts.as_ref().map_or("", |tts| tts.model),
            voice: self.tts.as_ref().map_or("", |tts| tts.voice),
        }
    }

    /// Returns the day on which it ends a model.
    pub(crate) fn end_of(&self, model: &str) -> Option<&'static str> {
        let end = self.ends.iter().find(|(ending, _)| *ending == model);
        end.map(|(_, day)| *day)
    }

    /// Returns the settings that the voices of its model take. Without a model it is the usual one.
    pub(crate) fn takes(&self, model: Option<&str>) -> Takes {
        self.tts.as_ref().map_or(Takes::NOTHING, |tts| (tts.takes)(model))
    }
}
