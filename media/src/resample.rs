//! Sample-rate conversion of mono `i16` streams in chunks of any length. 8 ↔ 16 kHz, the live path, uses a
//! half-band filter of 1.5 ms delay. Other rates use rubato: its FFT resampler for speech providers, its sinc
//! resampler for lines.

mod half_band;
mod rates;
mod spectral;
mod windowed;

pub use half_band::{HalfBandDown, HalfBandUp};
pub use rates::{RATES_HZ, ResampleError};
use spectral::Spectral;
use windowed::Windowed;

enum Kind {
    Identity,
    Up(HalfBandUp),
    Down(HalfBandDown),
    Spectral(Box<Spectral>),
    Windowed(Box<Windowed>),
}

/// Converts one stream from one rate to another. The delay of the filter appears as silence at the start of
/// the output; [`flush`](Self::flush) returns the end.
pub struct Resampler {
    kind: Kind,
}

impl Resampler {
    /// Creates a converter from `from_hz` to `to_hz`.
    ///
    /// # Errors
    /// Returns an error if a rate is outside [`RATES_HZ`], or if the pair has no common measure.
    pub fn new(from_hz: u32, to_hz: u32) -> Result<Self, ResampleError> {
        let other = || Spectral::new(from_hz, to_hz).map(|filter| Kind::Spectral(Box::new(filter)));
        Self::or_else(from_hz, to_hz, other)
    }

    /// Creates a converter for live audio. Rates other than 8 and 16 kHz are delayed by 4 ms instead of 20,
    /// for a little more work.
    ///
    /// # Errors
    /// Returns an error if a rate is outside [`RATES_HZ`].
    pub fn live(from_hz: u32, to_hz: u32) -> Result<Self, ResampleError> {
        let other = || Windowed::new(from_hz, to_hz).map(|filter| Kind::Windowed(Box::new(filter)));
        Self::or_else(from_hz, to_hz, other)
    }

    fn or_else(
        from_hz: u32,
        to_hz: u32,
        other: impl FnOnce() -> Result<Kind, ResampleError>,
    ) -> Result<Self, ResampleError> {
        if let Some(&rate) = [from_hz, to_hz].iter().find(|rate| !RATES_HZ.contains(rate)) {
            return Err(ResampleError::Rate(rate));
        }
        let kind = match (from_hz, to_hz) {
            (from, to) if from == to => Kind::Identity,
            (8_000, 16_000) => Kind::Up(HalfBandUp::new()),
            (16_000, 8_000) => Kind::Down(HalfBandDown::new()),
            _ => other()?,
        };
        Ok(Self { kind })
    }

    /// Converts a chunk of any length and appends the finished samples to `into`.
    pub fn process(&mut self, input: &[i16], into: &mut Vec<i16>) {
        match &mut self.kind {
            Kind::Identity => into.extend_from_slice(input),
            Kind::Up(filter) => filter.process(input, into),
            Kind::Down(filter) => filter.process(input, into),
            Kind::Spectral(filter) => filter.process(input, into),
            Kind::Windowed(filter) => filter.process(input, into),
        }
    }

    /// Appends the rest of the stream to `into` and resets the converter. In total, `input · to_hz / from_hz`
    /// samples, rounded up, follow the delay.
    pub fn flush(&mut self, into: &mut Vec<i16>) {
        match &mut self.kind {
            Kind::Identity => {}
            Kind::Up(filter) => {
                filter.process(&[0; HalfBandUp::DELAY], into);
                *filter = HalfBandUp::new();
            }
            Kind::Down(filter) => {
                filter.process(&[0; 2 * (HalfBandDown::DELAY + 1)], into);
                *filter = HalfBandDown::new();
            }
            Kind::Spectral(filter) => filter.flush(into),
            Kind::Windowed(filter) => filter.flush(into),
        }
    }

    /// Resets the converter and drops its samples.
    pub fn restart(&mut self) {
        match &mut self.kind {
            Kind::Identity => {}
            Kind::Up(filter) => *filter = HalfBandUp::new(),
            Kind::Down(filter) => *filter = HalfBandDown::new(),
            Kind::Spectral(filter) => filter.restart(),
            Kind::Windowed(filter) => filter.restart(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use proptest::prelude::*;

    use super::*;

    const AMPLITUDE: f64 = 12_000.0;

    fn sine(rate: u32, hz: f64, samples: usize) -> Vec<i16> {
        (0..samples)
            .map(|n| (AMPLITUDE * (TAU * hz * n as f64 / f64::from(rate)).sin()).round() as i16)
            .collect()
    }

    /// Returns the level of `hz` in the steady middle of a signal, in dB relative to [`AMPLITUDE`].
    fn level_db(signal: &[i16], rate: u32, hz: f64) -> f64 {
        let middle = &signal[signal.len() / 4..signal.len() * 3 / 4];
        let (mut re, mut im, mut weight) = (0.0, 0.0, 0.0);
        for (n, &sample) in middle.iter().enumerate() {
            let window = 0.5 - 0.5 * (TAU * n as f64 / middle.len() as f64).cos();
            let angle = TAU * hz * n as f64 / f64::from(rate);
            re += window * f64::from(sample) * angle.cos();
            im += window * f64::from(sample) * angle.sin();
            weight += window;
        }
        20.0 * (2.0 * re.hypot(im) / weight / AMPLITUDE).max(1e-9).log10()
    }

    fn convert(from: u32, to: u32, signal: &[i16], chunk: usize) -> Vec<i16> {
        converted(Resampler::new(from, to).unwrap(), signal, chunk)
    }

    fn converted(mut resampler: Resampler, signal: &[i16], chunk: usize) -> Vec<i16> {
        let mut out = Vec::new();
        for piece in signal.chunks(chunk) {
            resampler.process(piece, &mut out);
        }
        resampler.flush(&mut out);
        out
    }

    #[test]
    fn telephone_band_passes_flat_between_all_rates() {
        for (from, to) in [
            (8_000, 16_000),
            (16_000, 8_000),
            (24_000, 16_000),
            (48_000, 16_000),
            (44_100, 16_000),
            (22_050, 16_000),
            (24_000, 8_000),
            (44_100, 8_000),
            (8_000, 24_000),
            (22_050, 8_000),
            (11_025, 16_000),
        ] {
            for hz in [100.0, 300.0, 1_000.0, 3_000.0, 3_400.0] {
                let out = convert(from, to, &sine(from, hz, from as usize), 160);
                let level = level_db(&out, to, hz);
                assert!(level.abs() < 0.3, "{from} to {to}: {hz} Hz came out at {level:.2} dB");
            }
        }
    }

    #[test]
    fn a_line_of_any_rate_is_flat_and_without_aliases() {
        for rate in [22_050, 24_000, 44_100, 48_000] {
            for (from, to) in [(rate, 16_000), (16_000, rate)] {
                let live = |hz| converted(Resampler::live(from, to).unwrap(), &sine(from, hz, from as usize), 160);
                for hz in [100.0, 1_000.0, 3_400.0, 6_800.0] {
                    let level = level_db(&live(hz), to, hz);
                    assert!(level.abs() < 0.3, "{from} to {to}: {hz} Hz came out at {level:.2} dB");
                }
                let (above, mirrored) = match from {
                    16_000 => (7_000.0, 9_000.0),
                    _ => (9_000.0, 7_000.0),
                };
                let alias = level_db(&live(above), to, mirrored);
                assert!(alias < -70.0, "{from} to {to}: {above} Hz came back at {alias:.1} dB");
                let whole = live(440.0);
                assert!(
                    (to as usize..to as usize * 26 / 25).contains(&whole.len()),
                    "{}",
                    whole.len()
                );
            }
        }
    }

    #[test]
    fn up_sampling_leaves_no_images() {
        for hz in [300.0, 1_000.0, 3_000.0, 3_400.0] {
            let out = convert(8_000, 16_000, &sine(8_000, hz, 8_000), 160);
            let image = level_db(&out, 16_000, 8_000.0 - hz);
            let bound = if hz > 3_200.0 { -40.0 } else { -70.0 };
            assert!(image < bound, "{hz} Hz has an image at {image:.1} dB");
        }
    }

    #[test]
    fn down_sampling_leaves_no_aliases() {
        for (from, to) in [(16_000, 8_000), (24_000, 8_000), (48_000, 8_000), (44_100, 8_000)] {
            for hz in [4_600.0, 5_000.0, 7_000.0] {
                let out = convert(from, to, &sine(from, hz, from as usize), 160);
                let alias = level_db(&out, to, 8_000.0 - hz);
                let bound = if hz < 4_800.0 { -40.0 } else { -70.0 };
                assert!(alias < bound, "{from} to {to}: {hz} Hz came back at {alias:.1} dB");
            }
        }
    }

    #[test]
    fn up_and_down_again_is_the_same_signal_23_samples_later() {
        let signal = sine(8_000, 700.0, 4_000);
        let back = convert(16_000, 8_000, &convert(8_000, 16_000, &signal, 160), 320);
        for (n, &sample) in signal.iter().enumerate().skip(100).take(3_800) {
            let delayed = back[n + HalfBandUp::DELAY + HalfBandDown::DELAY];
            assert!(
                (i32::from(sample) - i32::from(delayed)).abs() < 30,
                "sample {n}: {sample} {delayed}"
            );
        }
    }

    #[test]
    fn full_scale_clips_instead_of_wrapping_around() {
        // Flat stretches far longer than the filters, whose ringing at the edges exceeds full scale.
        let square: Vec<i16> = (0..4_800)
            .map(|n| if n / 400 % 2 == 0 { i16::MAX } else { i16::MIN })
            .collect();
        for (from, to) in [(8_000, 16_000), (16_000, 8_000), (24_000, 16_000)] {
            let out = convert(from, to, &square, 160);
            // Without the start and the end, which ring around zero.
            let middle = &out[150..out.len() - 150];
            let crossings = middle.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count();
            assert_eq!(crossings, 11, "{from} to {to}");
            assert!(out.contains(&i16::MAX) && out.contains(&i16::MIN), "{from} to {to}");
        }
    }

    #[test]
    fn impossible_rates_are_refused_by_name() {
        assert_eq!(Resampler::new(0, 8_000).err(), Some(ResampleError::Rate(0)));
        assert_eq!(
            Resampler::new(8_000, 1_000_000).err(),
            Some(ResampleError::Rate(1_000_000))
        );
        assert!(matches!(
            Resampler::new(8_000, 15_991).err(),
            Some(ResampleError::Pair { .. })
        ));
    }

    #[test]
    fn a_flush_makes_the_resampler_new() {
        for (from, to) in [(8_000, 16_000), (16_000, 8_000), (24_000, 16_000)] {
            let mut resampler = Resampler::new(from, to).unwrap();
            let signal = sine(from, 440.0, 1_001);
            let [mut first, mut second] = [Vec::new(), Vec::new()];
            for out in [&mut first, &mut second] {
                resampler.process(&signal, out);
                resampler.flush(out);
            }
            assert_eq!(first, second, "{from} to {to}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn chunk_lengths_do_not_change_a_sample(
            samples in proptest::collection::vec(any::<i16>(), 0..3_000),
            chunk in 1usize..700,
            rates in proptest::sample::select(vec![
                (8_000, 16_000), (16_000, 8_000), (24_000, 16_000), (24_000, 8_000), (44_100, 16_000), (16_000, 16_000),
            ]),
        ) {
            let whole = convert(rates.0, rates.1, &samples, 3_000);
            prop_assert_eq!(&convert(rates.0, rates.1, &samples, chunk), &whole);
            // Nothing is lost: the output is at least as long as the input, and no longer than the filter's delay adds.
            let lasts = (samples.len() as u64 * u64::from(rates.1)).div_ceil(u64::from(rates.0)) as usize;
            prop_assert!(whole.len() >= lasts && whole.len() <= lasts + rates.1 as usize / 25, "{} {}", whole.len(), lasts);
        }
    }
}
