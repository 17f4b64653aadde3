//! Converts one stream from one line format to another, frame by frame. Nothing is lost or added. The only
//! delay is that of the filter, at most 4 ms, plus another 2 ms until its block is full.

use std::fmt;

use crate::{
    codec,
    format::LineFormat,
    resample::{ResampleError, Resampler},
};

/// A stream being converted.
pub struct Translator {
    from: LineFormat,
    to: LineFormat,
    resampler: Resampler,
    samples: Vec<i16>,
    converted: Vec<i16>,
}

impl fmt::Debug for Translator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Translator")
            .field("from", &self.from)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

impl Translator {
    /// Creates a translator at the start of a stream, or returns `None` if the formats are equal.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn between(from: LineFormat, to: LineFormat) -> Result<Option<Self>, ResampleError> {
        if from == to {
            return Ok(None);
        }
        Ok(Some(Self {
            from,
            to,
            resampler: Resampler::live(from.sample_rate, to.sample_rate)?,
            samples: Vec::new(),
            converted: Vec::new(),
        }))
    }

    /// Converts a frame of any length, in whole samples.
    pub fn translate(&mut self, audio: &[u8]) -> Vec<u8> {
        self.samples.clear();
        self.converted.clear();
        codec::decode(self.from.encoding, audio, &mut self.samples);
        self.resampler.process(&self.samples, &mut self.converted);
        let mut translated = Vec::with_capacity(self.converted.len() * self.to.encoding.bytes_per_sample());
        codec::encode(self.to.encoding, &self.converted, &mut translated);
        translated
    }

    /// Drops the samples in the filter, because another stream follows.
    pub fn restart(&mut self) {
        self.resampler.restart();
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use proptest::prelude::*;

    use super::*;
    use crate::format::Encoding;

    const RATES: [u32; 6] = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000];

    fn linear(sample_rate: u32) -> LineFormat {
        LineFormat {
            encoding: Encoding::Linear16,
            sample_rate,
        }
    }

    fn translator(from: LineFormat, to: LineFormat) -> Translator {
        Translator::between(from, to).unwrap().unwrap()
    }

    fn sine(rate: u32, hz: f64, from: usize, samples: usize) -> Vec<u8> {
        (from..from + samples)
            .map(|n| (12_000.0 * (TAU * hz * n as f64 / f64::from(rate)).sin()).round() as i16)
            .flat_map(i16::to_le_bytes)
            .collect()
    }

    /// Returns the pairs in which one side is a rate of the session.
    fn pairs() -> Vec<(u32, u32)> {
        let with = |inner: u32| {
            RATES
                .into_iter()
                .filter(move |rate| *rate != inner)
                .flat_map(move |rate| [(rate, inner), (inner, rate)])
        };
        with(16_000).chain([(8_000, 16_000), (16_000, 8_000)]).collect()
    }

    #[test]
    fn frames_keep_their_time_however_many_there_are() {
        for (from, to) in pairs() {
            let mut translator = translator(linear(from), linear(to));
            let frame = vec![0; linear(from).bytes_for_ms(20)];
            let (mut sent, mut came) = (0, 0);
            for n in 1..=3_000_u64 {
                sent += frame.len() as u64 / 2;
                came += translator.translate(&frame).len() as u64 / 2;
                if n % 100 == 0 {
                    let due = sent * u64::from(to) / u64::from(from);
                    // The samples that wait for their block, and the two samples by which the filter looks ahead.
                    let waits = u64::from(to) / 400;
                    assert!(came <= due && came + waits >= due, "{from} to {to}: {came} of {due}");
                }
            }
        }
    }

    /// Returns the largest difference from the same sine at the other rate, in dB below it, and the delay in
    /// ms that fits best.
    fn error_db(from: u32, to: u32, hz: f64) -> (f64, f64) {
        let mut translator = translator(linear(from), linear(to));
        let (mut out, step) = (Vec::new(), linear(from).bytes_for_ms(20) / 2);
        for n in 0..50 {
            out.extend(translator.translate(&sine(from, hz, n * step, step)));
        }
        let (mut samples, rate) = (Vec::new(), f64::from(to));
        codec::decode(Encoding::Linear16, &out, &mut samples);
        let middle = to as usize / 4..to as usize * 3 / 4;
        let (mut re, mut im) = (0.0, 0.0);
        for n in middle.clone() {
            let angle = TAU * hz * n as f64 / rate;
            re += f64::from(samples[n]) * angle.sin();
            im -= f64::from(samples[n]) * angle.cos();
        }
        let phase = im.atan2(re);
        let worst = middle.map(|n| {
            let same = 12_000.0 * (TAU * hz * n as f64 / rate - phase).sin();
            (f64::from(samples[n]) - same).abs()
        });
        let worst = worst.fold(1e-9, f64::max);
        (
            20.0 * (worst / 12_000.0).log10(),
            phase.rem_euclid(TAU) / TAU / hz * 1_000.0,
        )
    }

    #[test]
    fn a_sine_comes_out_the_same_and_a_little_later() {
        for (from, to) in pairs() {
            // At 100 Hz, a delay of ten milliseconds could be detected.
            let (error, delay_ms) = error_db(from, to, 100.0);
            assert!(error < -50.0, "{from} to {to}: {error:.1} dB");
            assert!(delay_ms < 4.6, "{from} to {to}: {delay_ms:.2} ms");
            for hz in [300.0, 1_000.0, 2_500.0, 3_300.0] {
                let (error, _) = error_db(from, to, hz);
                assert!(error < -45.0, "{from} to {to}, {hz} Hz: {error:.1} dB");
            }
        }
    }

    #[test]
    fn after_a_restart_nothing_is_left_of_what_was_before() {
        for (from, to) in pairs() {
            let (mut used, mut new) = (
                translator(linear(from), linear(to)),
                translator(linear(from), linear(to)),
            );
            used.translate(&sine(from, 700.0, 0, 777));
            used.restart();
            let audio = sine(from, 440.0, 0, 3_000);
            assert_eq!(used.translate(&audio), new.translate(&audio), "{from} to {to}");
        }
    }

    #[test]
    fn equal_rates_change_the_encoding_alone() {
        assert!(Translator::between(linear(8_000), linear(8_000)).unwrap().is_none());
        let mut there = translator(LineFormat::MULAW_8000, linear(8_000));
        let mut back = translator(linear(8_000), LineFormat::MULAW_8000);
        let every: Vec<u8> = (0..=255).collect();
        let again = back.translate(&there.translate(&every));
        // Mu-law has two zeros.
        let differ = every.iter().zip(&again).filter(|(a, b)| a != b).count();
        assert!(again.len() == 256 && differ <= 1, "{again:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lengths_of_frames_do_not_change_a_sample(
            samples in proptest::collection::vec(any::<i16>(), 0..3_000),
            frame in 1usize..900,
            pair in proptest::sample::select(pairs()),
        ) {
            let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            let (from, to) = (linear(pair.0), linear(pair.1));
            let whole = translator(from, to).translate(&bytes);
            let mut by_frames = translator(from, to);
            let pieces: Vec<u8> = bytes.chunks(2 * frame).flat_map(|piece| by_frames.translate(piece)).collect();
            prop_assert_eq!(pieces, whole);
        }
    }
}
