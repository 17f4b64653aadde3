//! What every adapter of a voice's provider is to the router.

use domain::ports::synthesizer::{SpeechError, SpeechPiece, Synthesizer, Voice, VoiceConfig};
use futures_util::{StreamExt, stream::BoxStream};

use crate::failure::Failure;

/// A text being spoken. Its end is the end of the text; dropping it cancels the rest at the provider.
pub(crate) type Pieces = BoxStream<'static, Result<SpeechPiece, Failure>>;

/// One call's line to one provider. A stream that is under way keeps what it needs of it.
pub(crate) trait VoiceProvider: Send {
    /// Speaks a text. Returns at once.
    fn speak(&mut self, text: &str) -> Pieces;

    /// Speaks a text that has this provider's markup in it. `words` is the same text with blanks in the place of the
    /// markup: what is not there is not heard. Times count `words`.
    fn perform(&mut self, text: &str, words: &str) -> Pieces {
        let _ = words;
        self.speak(text)
    }
}

/// A provider of voices.
pub(crate) trait Source: Send + Sync {
    /// Opens a line to it; the voice is one of its own. Returns at once.
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider>;

    /// All that shapes its audio beside the voice's settings: the model, the server, and this service's way of asking.
    fn signature(&self, config: &VoiceConfig) -> String;

    /// Whether such a voice acts on directions.
    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        let _ = config;
        false
    }

    /// How a direction such as `laughs` is written for such a voice; none if it does not know it.
    fn cue(&self, config: &VoiceConfig, tag: &str) -> Option<String> {
        let _ = (config, tag);
        None
    }
}

/// A synthesizer within this process as one provider of many.
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
