//! A recogniser with the faults of those in the field: it answers late, shows words that it takes back, leaves out
//! punctuation and gets words wrong. All of it follows from a seed and from what is said, so that a conversation goes
//! the same way each time, whatever other calls there are.

mod delay;
mod errors;

use std::sync::Arc;

use clap::Args;
use domain::ports::transcriber::{Promise, Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream};
use tokio::task::AbortHandle;

pub use self::delay::Delay;
use self::{
    delay::{Late, Queue},
    errors::Errors,
};

/// How imperfect it is. As it stands by default it is perfect.
#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub struct Imperfection {
    /// Milliseconds by which the babble recogniser's words come late: median, or median/95th percentile (247/298)
    #[arg(long = "babble-delay-ms", id = "babble_delay_ms", env = "RINGBACK_BABBLE_DELAY_MS", default_value = "0",
          value_parser = Delay::parse)]
    pub delay: Delay,

    /// Words in a hundred that the babble recogniser gets wrong; as many again are shown wrong at first
    #[arg(long = "babble-word-errors", id = "babble_word_errors", env = "RINGBACK_BABBLE_WORD_ERRORS",
          default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=50))]
    pub word_errors: u8,

    /// Whether the babble recogniser hears punctuation
    #[arg(long = "babble-punctuation", id = "babble_punctuation", env = "RINGBACK_BABBLE_PUNCTUATION",
          default_value_t = true, action = clap::ArgAction::Set, value_parser = clap::builder::BoolishValueParser::new())]
    pub punctuation: bool,

    /// Chooses the babble recogniser's delays and errors
    #[arg(
        long = "babble-seed",
        id = "babble_seed",
        env = "RINGBACK_BABBLE_SEED",
        default_value_t = 0
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
    /// A good streaming recogniser of the field: the latencies published for one with end-of-turn detection (247 ms at
    /// the median, 298 ms at the 95th percentile), no punctuation before a turn is over, 5 % word errors on telephone
    /// lines.
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

    /// The recogniser with these faults; without any it is the recogniser itself.
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

/// A recogniser whose events come late and with errors.
struct ImperfectTranscriber<T> {
    inner: T,
    faults: Imperfection,
}

impl<T: Transcriber> Transcriber for ImperfectTranscriber<T> {
    fn sample_rate(&self, line_rate: u32) -> u32 {
        self.inner.sample_rate(line_rate)
    }

    /// Must be called within a tokio runtime: a task hands the events over when they are due.
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

    fn promise(&self) -> Promise {
        self.inner.promise()
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

/// A share from 0 to 1 of a hash.
fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
