//! Speech to text.

pub use super::synthesizer::SpeechError;
use super::usage::Meter;
use media::format::LineFormat;
pub use media::turn::endpointing::Capabilities;

/// Settings of a recogniser for one call.
#[derive(Debug, Clone)]
pub struct TranscriberConfig {
    /// Language code, such as `en`.
    pub language: String,
    /// Whether to expect Hindi with English words.
    pub hinglish: bool,
    /// Terms to favour.
    pub keywords: Vec<String>,
    /// Rate of the samples, and the format in which a provider gets them.
    pub format: LineFormat,
    /// Counts usage.
    pub meter: Meter,
}

/// A recognition result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptEvent {
    /// The text so far since the last final; it replaces the previous interim.
    Interim {
        /// Words since the last final.
        text: String,
    },
    /// Text that will not change any more; the next interim starts afresh.
    Final {
        /// Final words.
        text: String,
        /// Whether part of the speech was heard but not understood (shown as missing, never guessed).
        damaged: bool,
    },
    /// The recogniser, which detects turns itself, considers the user's turn over. It has sent the turn's
    /// words as finals.
    TurnEnded,
    /// The same recogniser considers that the turn may be over, with the words of the last interim.
    TurnPaused,
    /// It no longer considers the turn over.
    TurnResumed,
    /// The recogniser gave up; nothing follows.
    Failed(SpeechError),
}

/// Receiver of events. It is called from any task and must not block. Of events that are not taken in time it
/// keeps only the newest interim, and all finals up to as much as people say.
pub type TranscriptSink = Box<dyn Fn(TranscriptEvent) + Send + Sync>;

/// A speech recogniser.
pub trait Transcriber: Send + Sync {
    /// Returns the sample rate it takes, in Hz, where `wanted` Hz are the line's rate or set by the agent.
    fn sample_rate(&self, wanted: u32) -> u32;

    /// Opens a stream for one call. Returns at once; the connection is made in the background.
    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream>;
}

/// One call's recogniser. Dropping it closes the connection, on every exit path.
pub trait TranscriptStream: Send {
    /// Feeds mono samples, in order, silence too. Never blocks.
    fn push(&mut self, samples: &[i16]);

    /// Reports that speech started or resumed after a pause; it may have begun a few hundred milliseconds
    /// ago. Called again if speech continues after a `finalize`.
    fn speech_started(&mut self) {}

    /// Reports that speech has paused: pending words become final now. An event follows if there was any speech.
    fn finalize(&mut self);

    /// Returns what its finals can guarantee now; this may change as it runs. Must be cheap.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}
