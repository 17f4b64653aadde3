//! Interface of a voice provider's adapter, as the router uses it.

use domain::ports::synthesizer::{SpeechError, SpeechPiece, Synthesizer, Voice, VoiceConfig};
use futures_util::{StreamExt, stream::BoxStream};

use crate::{endpoint::Endpoint, failure::Failure};

/// Speech of one text in progress. It ends with the text; dropping it cancels the rest at the provider.
pub(crate) type Pieces = BoxStream<'static, Result<SpeechPiece, Failure>>;

/// Connection of one call to one provider. A stream in progress keeps the parts of it that it needs.
pub(crate) trait VoiceProvider: Send {
    /// Speaks a text. Returns at once.
    fn speak(&mut self, text: &str) -> Pieces;

    /// Speaks a text that contains this provider's markup. In `words` the markup is replaced by blanks of the
    /// same length, as it is not heard. Word times refer to `words`.
    fn perform(&mut self, text: &str, words: &str) -> Pieces {
        let _ = words;
        self.speak(text)
    }
}

/// Provider of voices.
pub(crate) trait Source: Send + Sync {
    /// Opens a connection. The voice is one of the provider's own. Returns at once.
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider>;

    /// Returns everything besides the voice's settings that shapes the audio: the model, the server, and the
    /// way of requesting.
    fn signature(&self, config: &VoiceConfig) -> String;

    /// Reads a message of the provider, for a fuzzer.
    #[cfg(feature = "fuzzing")]
    fn fuzz(&self, config: &VoiceConfig, message: &str) {
        let _ = (config, message);
    }

    /// Returns whether the voice follows directions.
    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        let _ = config;
        false
    }

    /// Returns a direction such as `laughs` in the markup of the voice, or `None` if it does not know the direction.
    fn cue(&self, config: &VoiceConfig, tag: &str) -> Option<String> {
        let _ = (config, tag);
        None
    }
}

/// Endpoint and model of the source of a provider's voices.
pub(crate) struct SourceSettings {
    pub endpoint: Endpoint,
    /// Model, if one is named.
    pub model: Option<String>,
    /// Model that is used otherwise.
    pub usual_model: &'static str,
    pub client: reqwest::Client,
}

impl SourceSettings {
    /// Returns the named model, or else the usual one.
    pub(crate) fn model(&self) -> String {
        self.model.clone().unwrap_or_else(|| self.usual_model.to_owned())
    }
}

/// Adapter of a synthesizer inside this process.
pub(crate) struct InProcess<S>(pub(crate) S);

impl<S: Synthesizer> Source for InProcess<S> {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        Box::new(Inner(self.0.open(config.clone())))
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        String::new()
    }
}

struct Inner(Box<dyn Voice>);

impl VoiceProvider for Inner {
    fn speak(&mut self, text: &str) -> Pieces {
        let pieces = self.0.speak(text.to_owned());
        pieces
            .map(|piece| {
                piece.map_err(|error| match error {
                    SpeechError::Rejected(why) => Failure::OurFault(why),
                    SpeechError::Busy { retry_after } => Failure::Busy { retry_after },
                    SpeechError::Unavailable(why) => Failure::Unavailable(why),
                    SpeechError::Protocol(why) => Failure::Protocol(why),
                })
            })
            .boxed()
    }
}
