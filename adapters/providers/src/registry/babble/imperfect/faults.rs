//! Settings of a recogniser's faults.

use clap::Args;
use net::setting::{TrueOrFalse, whole};

use super::delay::Delay;

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
}
