//! The listener's measurements: every 5 ms, the power in the twelve bands of a window of 32 ms.

use std::{f32::consts::TAU, sync::Arc, sync::LazyLock};

use realfft::{RealFftPlanner, RealToComplex, num_complex::Complex};

use super::sound::{BANDS, FORMANTS, PLACES};

/// Samples between two measurements: 5 ms at 8 kHz.
pub(super) const HOP: usize = 40;
/// Samples of a window: 32 ms at 8 kHz.
const WINDOW: usize = 256;
/// Spectral lines of 31.25 Hz between the middles of two bands.
const BAND_LINES: usize = 8;
/// The line in the middle of the lowest band: 375 Hz.
const FIRST_LINE: usize = 12;

/// Mean power of a window below which nobody speaks: -47 dBFS, like the gate of the voice detector. The noise
/// of a line is below it and makes up most of a call, so the transform is skipped for it.
const QUIET: f32 = 2.0e-5 * 32_768.0 * 32_768.0;

/// Window and transform, built once for all calls.
static TABLES: LazyLock<(Vec<f32>, Arc<dyn RealToComplex<f32>>)> = LazyLock::new(|| {
    let hann = |n: usize| (0.5 - 0.5 * (TAU * n as f32 / WINDOW as f32).cos()) / 32_768.0;
    (
        (0..WINDOW).map(hann).collect(),
        RealFftPlanner::new().plan_fft_forward(WINDOW),
    )
});

/// Power in each band. A sine of full scale has about 4,096 at any place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Bands(pub(super) [f32; BANDS]);

/// A vowel as heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HeardVowel {
    /// The six bits.
    pub(super) vowel: u8,
    /// Lead in dB of the strongest band over its runner-up, for the least certain formant.
    pub(super) margin_db: f32,
    /// Level in dB of the weakest formant below the sum of all.
    pub(super) weakest_db: f32,
}

impl Bands {
    /// Returns a positive number if there is a hum and nothing else.
    pub(super) fn hum_score(&self) -> f32 {
        self.0[0] - 2.5 * self.0[1..].iter().sum::<f32>()
    }

    /// Returns the power in all bands.
    pub(super) fn total(&self) -> f32 {
        self.0.iter().sum()
    }

    /// Returns the most likely vowel.
    pub(super) fn vowel(&self) -> HeardVowel {
        let decibels = |ratio: f32| 10.0 * ratio.max(1e-12).log10();
        let mut heard = HeardVowel {
            vowel: 0,
            margin_db: f32::INFINITY,
            weakest_db: 0.0,
        };
        for formant in self.0.chunks_exact(PLACES).take(FORMANTS) {
            let (mut best, mut best_power, mut second_power) = (0, -1.0, -1.0);
            for (place, &power) in formant.iter().enumerate() {
                if power > best_power {
                    (best, best_power, second_power) = (place, power, best_power);
                } else if power > second_power {
                    second_power = power;
                }
            }
            heard.vowel = heard.vowel << 2 | best as u8;
            heard.margin_db = heard.margin_db.min(decibels(best_power / second_power.max(1e-9)));
            heard.weakest_db = heard.weakest_db.max(-decibels(best_power / self.total().max(1e-9)));
        }
        heard
    }
}

/// Cuts a stream of samples at 8 kHz into overlapping windows and measures each.
pub(super) struct Analyser {
    waiting: Vec<f32>,
    windowed: Vec<f32>,
    lines: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
}

impl Analyser {
    pub(super) fn new() -> Self {
        let fft = &TABLES.1;
        Self {
            waiting: vec![0.0; WINDOW - HOP],
            windowed: fft.make_input_vec(),
            lines: fft.make_output_vec(),
            scratch: fft.make_scratch_vec(),
        }
    }

    /// Takes any number of samples and calls `each` for every window they complete.
    pub(super) fn push(&mut self, samples: &[i16], mut each: impl FnMut(Bands)) {
        self.waiting.extend(samples.iter().map(|&sample| f32::from(sample)));
        let mut from = 0;
        while from + WINDOW <= self.waiting.len() {
            each(self.measure(from));
            from += HOP;
        }
        self.waiting.drain(..from);
    }

    fn measure(&mut self, from: usize) -> Bands {
        let (hann, fft) = &*TABLES;
        let window = &self.waiting[from..from + WINDOW];
        if power(window) < QUIET {
            return Bands::default();
        }
        for ((windowed, sample), hann) in self.windowed.iter_mut().zip(window).zip(hann) {
            *windowed = sample * hann;
        }
        // Cannot fail: the buffers are the transform's own.
        if fft
            .process_with_scratch(&mut self.windowed, &mut self.lines, &mut self.scratch)
            .is_err()
        {
            return Bands::default();
        }
        Bands(std::array::from_fn(|band| {
            let middle = FIRST_LINE + BAND_LINES * band;
            let power = |line: usize| self.lines[line].norm_sqr();
            let inner: f32 = (middle - 3..=middle + 3).map(power).sum();
            inner + (power(middle - 4) + power(middle + 4)) / 2.0
        }))
    }
}

/// Returns the mean power of a window.
fn power(window: &[f32]) -> f32 {
    // Several sums side by side, so that they become vector operations.
    let mut sums = [0.0; 8];
    for samples in window.chunks_exact(sums.len()) {
        for (sum, sample) in sums.iter_mut().zip(samples) {
            *sum += sample * sample;
        }
    }
    sums.iter().sum::<f32>() / window.len() as f32
}
