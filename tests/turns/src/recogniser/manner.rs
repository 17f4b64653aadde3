//! Manners of recognisers: how late they are, what they get wrong, and what they show.

use std::time::Duration;

use media::turn::endpointing::Capabilities;

use crate::chance::Chance;

/// 95th percentile of a normal distribution, in standard deviations.
const P95_DEVIATIONS: f64 = 1.645;

/// A manner.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    /// Its name.
    pub name: &'static str,
    /// Median delay from the end of a word until it is known, in milliseconds.
    pub delay_ms: u64,
    /// 95th percentile of the delay, in milliseconds.
    pub late_ms: u64,
    /// Share of words that it gets wrong. As many again are wrong at first and then corrected.
    pub errors: f64,
    /// Whether it writes punctuation and capitals.
    pub punctuation: bool,
    /// Whether it shows the beginning of a word while the word is said.
    pub partials: bool,
    /// Whether it shows words before they are final.
    pub interims: bool,
    /// Least time between two interims, in milliseconds.
    pub interval_ms: u64,
    /// Whether it writes filled pauses.
    pub fillers: bool,
    /// Whether it writes digits as numerals.
    pub numerals: bool,
    /// Silence after which words become final without a request, in milliseconds.
    pub own_finals_ms: Option<u64>,
}

/// The recognisers of the measurement.
pub const MANNERS: [Manner; 5] = [
    Manner {
        name: "exact",
        delay_ms: 0,
        late_ms: 0,
        errors: 0.0,
        punctuation: true,
        partials: false,
        interims: true,
        interval_ms: 20,
        fillers: true,
        numerals: false,
        own_finals_ms: None,
    },
    Manner {
        name: "streaming",
        delay_ms: 247,
        late_ms: 298,
        errors: 0.05,
        punctuation: false,
        partials: true,
        interims: true,
        interval_ms: 100,
        fillers: true,
        numerals: false,
        own_finals_ms: None,
    },
    Manner {
        name: "punctuated",
        delay_ms: 300,
        late_ms: 450,
        errors: 0.04,
        punctuation: true,
        partials: false,
        interims: true,
        interval_ms: 250,
        fillers: false,
        numerals: true,
        own_finals_ms: Some(300),
    },
    Manner {
        name: "slow",
        delay_ms: 600,
        late_ms: 1_000,
        errors: 0.08,
        punctuation: false,
        partials: true,
        interims: true,
        interval_ms: 500,
        fillers: false,
        numerals: false,
        own_finals_ms: None,
    },
    Manner {
        name: "finals-only",
        delay_ms: 350,
        late_ms: 600,
        errors: 0.04,
        punctuation: true,
        partials: false,
        interims: false,
        interval_ms: 0,
        fillers: false,
        numerals: true,
        own_finals_ms: None,
    },
];

impl Manner {
    /// Returns what its finals guarantee.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            final_within: Duration::from_millis(500 + 2 * self.late_ms),
            answers_each: true,
            tells_turns: false,
            tells_interims: self.interims,
        }
    }

    /// Draws a delay in milliseconds.
    pub(super) fn draw_delay(&self, chance: &mut Chance) -> u64 {
        let (median, late) = (self.delay_ms as f64, self.late_ms as f64);
        let ms = median + chance.normal() * (late - median) / P95_DEVIATIONS;
        ms.clamp(median / 4.0, median * 4.0) as u64
    }
}
