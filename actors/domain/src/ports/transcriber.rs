//! Speech to text.

pub use super::synthesizer::SpeechError;
use super::usage::Meter;
pub use media::turn::endpointing::Promise;

/// What the recogniser should expect.
#[derive(Debug, Clone)]
pub struct TranscriberConfig {
    /// Language code, such as `en`.
    pub language: String,
    /// Hindi with English words.
    pub hinglish: bool,
    /// Terms to favour.
    pub keywords: Vec<String>,
    /// Rate of the samples pushed, in Hz: 8000 or 16000.
    pub sample_rate: u32,
    /// Counts what is used.
    pub meter: Meter,
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
    /// The recogniser, which listens for turns itself, takes the user's turn for over: it had these words, which were
    /// sent as finals.
    TurnEnded,
    /// The same recogniser thinks that the turn may be over, with the words of the last interim.
    TurnPaused,
    /// It thinks so no longer.
    TurnResumed,
    /// The recogniser gave up; nothing more comes.
    Failed(SpeechError),
}

/// Where events go. Called from any task; must not block. It keeps little of what is not taken in time: the newest
/// interim, and all finals as long as they are no more than people say.
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
    /// Feeds mono samples, in order, silence too. Never blocks.
    fn push(&mut self, samples: &[i16]);

    /// There is voice again, at first or after it had paused; it began up to a few hundred milliseconds ago. Comes again
    /// after each `finalize` that more voice follows.
    fn speech_started(&mut self) {}

    /// The voice has paused: whatever is known becomes final now (an event follows if there was any speech).
    fn finalize(&mut self);

    /// What can be said of its finals now; may change with what it goes through. Must cost nothing.
    fn promise(&self) -> Promise {
        Promise::default()
    }
}
