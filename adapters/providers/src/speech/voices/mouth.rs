//! What every adapter of a voice's provider is to the router.

use domain::ports::synthesizer::{SpeechError, SpeechPiece, Synthesizer, Voice, VoiceConfig};
use futures_util::{StreamExt, stream::BoxStream};

use super::trouble::Trouble;

/// A text being spoken. Its end is the end of the text; dropping it cancels the rest at the provider.
pub(in crate::speech) type Pieces = BoxStream<'static, Result<SpeechPiece, Trouble>>;

/// One call's line to one provider. A stream that is under way keeps what it needs of it.
pub(in crate::speech) trait Mouth: Send {
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
pub(in crate::speech) trait Source: Send + Sync {
    /// Opens a line to it; the voice is one of its own. Returns at once.
    fn open(&self, config: &VoiceConfig) -> Box<dyn Mouth>;

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
pub(in crate::speech) struct InProcess<S>(pub(in crate::speech) S);

impl<S: Synthesizer> Source for InProcess<S> {
    fn open(&self, config: &VoiceConfig) -> Box<dyn Mouth> {
        Box::new(Inner(self.0.open(config.clone())))
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        String::new()
    }
}

struct Inner(Box<dyn Voice>);

impl Mouth for Inner {
    fn speak(&mut self, text: &str) -> Pieces {
        let pieces = self.0.speak(text.to_owned());
        pieces
            .map(|piece| {
                piece.map_err(|error| match error {
                    SpeechError::Rejected(why) => Trouble::Unfit(why),
                    SpeechError::Busy { retry_after } => Trouble::Busy { retry_after },
                    SpeechError::Unavailable(why) => Trouble::Unavailable(why),
                    SpeechError::Protocol(why) => Trouble::Protocol(why),
                })
            })
            .boxed()
    }
}
