//! Delays of the stubs.

use std::time::Duration;

use rand::Rng;

/// A delay that varies: log-normal through its median and its 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Median, in milliseconds.
    pub p50_ms: u64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: u64,
}

impl Spread {
    /// No delay.
    pub const NONE: Self = Self { p50_ms: 0, p95_ms: 0 };

    /// Draws a delay.
    pub fn draw(self, rng: &mut impl Rng) -> Duration {
        /// The 95th percentile of the standard normal distribution.
        const Z95: f64 = 1.644_854;
        if self.p50_ms == 0 {
            return Duration::ZERO;
        }
        let median = self.p50_ms as f64;
        let sigma = (self.p95_ms as f64 / median).max(1.0).ln() / Z95;
        // Twelve uniform numbers make a normal one that never strays beyond six sigma.
        let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        Duration::from_secs_f64(median * (sigma * normal).exp() / 1000.0)
    }
}

/// Delays of all stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StubTimes {
    /// From the end of the speech to the final transcript.
    pub final_transcript: Spread,
    /// From the request to the language model's first token.
    pub first_token: Spread,
    /// Tokens per second after the first token; `None` sends all at once.
    pub tokens_per_second: Option<u32>,
    /// From the text to the first audio.
    pub first_audio: Spread,
}

impl StubTimes {
    /// No delays.
    pub const AT_ONCE: Self = Self {
        final_transcript: Spread::NONE,
        first_token: Spread::NONE,
        tokens_per_second: None,
        first_audio: Spread::NONE,
    };

    /// Published or measured delays of hosted providers in 2026: a streaming recogniser's final words 247 ms
    /// after the speech at the median and 298 ms at the 95th percentile, a language model's first token after
    /// 400 and 900 ms and 60 tokens per second, a tts provider's first audio after 280 and 450 ms.
    pub const PUBLISHED: Self = Self {
        final_transcript: Spread {
            p50_ms: 247,
            p95_ms: 298,
        },
        first_token: Spread {
            p50_ms: 400,
            p95_ms: 900,
        },
        tokens_per_second: Some(60),
        first_audio: Spread {
            p50_ms: 280,
            p95_ms: 450,
        },
    };
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn times_have_their_median_and_their_95th_percentile() {
        let mut rng = StdRng::seed_from_u64(1);
        let spread = StubTimes::PUBLISHED.first_token;
        let mut drawn: Vec<_> = (0..10_000).map(|_| spread.draw(&mut rng).as_millis()).collect();
        drawn.sort_unstable();
        assert!((385..=415).contains(&drawn[5_000]), "{}", drawn[5_000]);
        assert!((840..=960).contains(&drawn[9_500]), "{}", drawn[9_500]);
        assert_eq!(Spread::NONE.draw(&mut rng), Duration::ZERO);
    }
}
