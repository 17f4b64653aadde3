//! Speech to text.

pub use super::synthesizer::SpeechError;

/// What the recogniser should expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriberConfig {
    /// Language code, such as `en`.
    pub language: String,
    /// Terms to favour.
    pub keywords: Vec<String>,
    /// Rate of the samples pushed, in Hz: 8000 or 16000.
    pub sample_rate: u32,
}

/// What was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptEvent {
    /// The words so far since the last final, replacing the previous interim.
    Interim {
        /// The words.
        text: String,
    },
    /// Words that will not change any more; the next interim starts afresh.
    Final {
        /// The words.
        text: String,
        /// Whether part of the speech was heard but not understood (shown as missing, never guessed).
        damaged: bool,
    },
    /// The recogniser gave up; nothing more comes.
    Failed(SpeechError),
}

/// Where events go. Called from any task; must not block.
pub type TranscriptSink = Box<dyn Fn(TranscriptEvent) + Send + Sync>;

/// A speech recogniser.
pub trait Transcriber: Send + Sync {
    /// The rate it wants its samples at, in Hz (8000 or 16000), on a line of `line_rate` Hz.
    fn sample_rate(&self, line_rate: u32) -> u32;

    /// Opens one stream for one call. Returns at once; connecting happens behind it.
    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream>;
}

/// One call's recogniser. Dropping it closes the connection, on every exit path.
pub trait TranscriptStream: Send {
    /// Feeds mono samples, in order. Never blocks.
    fn push(&mut self, samples: &[i16]);

    /// The voice has paused: whatever is known becomes final now (an event follows if there was any speech).
    fn finalize(&mut self);
}
