//! Recogniser with the faults of real ones: its results are late, change their words, lack punctuation and
//! contain wrong words. All of it follows from a seed and from the text said, so that a conversation always
//! goes the same way, whatever other calls there are.

mod delay;
mod errors;

use std::sync::Arc;

use clap::Args;
use domain::ports::transcriber::{Capabilities, Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream};
use net::setting::{TrueOrFalse, whole};
use tokio::task::AbortHandle;

pub use self::delay::Delay;
use self::{
    delay::{Late, Queue},
    errors::Errors,
};

/// Faults of the babble recogniser. The default has none.
#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub struct Imperfection {
    /// Delay of the babble recogniser's results in milliseconds: median, or median/95th percentile such as 247/298
    #[arg(long = "babble-delay-ms", id = "babble_delay_ms", env = "RINGBACK_BABBLE_DELAY_MS", default_value = "0",
          value_parser = Delay::parse)]
    pub delay: Delay,

    /// Percentage of words that the babble recogniser gets wrong; as many again are wrong at first and then corrected
    #[arg(long = "babble-word-errors", id = "babble_word_errors", env = "RINGBACK_BABBLE_WORD_ERRORS",
          default_value_t = 0, value_parser = whole(0..=50_u8))]
    pub word_errors: u8,

    /// Whether the babble recogniser's results have punctuation
    #[arg(long = "babble-punctuation", id = "babble_punctuation", env = "RINGBACK_BABBLE_PUNCTUATION",
          default_value_t = true, action = clap::ArgAction::Set, value_parser = TrueOrFalse)]
    pub punctuation: bool,

    /// Seed of the babble recogniser's delays and errors
    #[arg(
        long = "babble-seed",
        id = "babble_seed",
        env = "RINGBACK_BABBLE_SEED",
        default_value_t = 0,
        value_parser = whole(0..=u64::MAX)
    )]
    pub seed: u64,
}

impl Default for Imperfection {
    fn default() -> Self {
        Self {
            delay: Delay::NONE,
            word_errors: 0,
            punctuation: true,
            seed: 0,
        }
    }
}

impl Imperfection {
    /// Returns the faults of a good real streaming recogniser: the latencies published for one with
    /// end-of-turn detection (247 ms at the median, 298 ms at the 95th percentile), no punctuation before a
    /// turn is over, and 5 % word errors on telephone lines.
    pub fn of_the_field(seed: u64) -> Self {
        Self {
            delay: Delay {
                p50_ms: 247,
                p95_ms: 298,
            },
            word_errors: 5,
            punctuation: false,
            seed,
        }
    }

    /// Returns a recogniser with these faults. Without any fault it is the given recogniser.
    pub fn applied_to(self, inner: impl Transcriber + 'static) -> Arc<dyn Transcriber> {
        let faultless = Self {
            seed: self.seed,
            ..Self::default()
        };
        if self == faultless {
            return Arc::new(inner);
        }
        Arc::new(ImperfectTranscriber { inner, faults: self })
    }
}

/// Recogniser whose events come late and with errors.
struct ImperfectTranscriber<T> {
    inner: T,
    faults: Imperfection,
}

impl<T: Transcriber> Transcriber for ImperfectTranscriber<T> {
    fn sample_rate(&self, wanted: u32) -> u32 {
        self.inner.sample_rate(wanted)
    }

    /// Opens a stream. Must be called within a tokio runtime, because a task delivers the events when they are due.
    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let queue = Arc::new(Queue::new(Late::new(self.faults.delay, self.faults.seed)));
        let waiting = queue.clone();
        let mut errors = Errors::new(self.faults);
        let task = tokio::spawn(async move {
            loop {
                let event = waiting.next().await;
                if let Some(event) = errors.apply(event) {
                    sink(event);
                }
            }
        });
        let inner = self.inner.open(config, Box::new(move |event| queue.push(event)));
        Box::new(ImperfectStream {
            inner,
            task: task.abort_handle(),
        })
    }
}

struct ImperfectStream {
    inner: Box<dyn TranscriptStream>,
    task: AbortHandle,
}

impl TranscriptStream for ImperfectStream {
    fn push(&mut self, samples: &[i16]) {
        self.inner.push(samples);
    }

    fn speech_started(&mut self) {
        self.inner.speech_started();
    }

    fn finalize(&mut self) {
        self.inner.finalize();
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

impl Drop for ImperfectStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Mixes a value into a hash (the finaliser of splitmix64).
fn mixed(hash: u64, value: u64) -> u64 {
    let mut mixed = (hash ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Mixes a text into a hash.
fn mixed_text(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| mixed(hash, u64::from(byte)))
}

/// Maps a hash to a share from 0 to 1.
fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
