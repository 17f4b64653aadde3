//! Sounds on a telephone line other than speech, at 8 kHz: coughs, hum, music, noise, clicks. Pure,
//! and always the same.

use std::{f64::consts::TAU, sync::LazyLock};

/// Samples per second.
const RATE: f64 = 8_000.0;
const SAMPLES_PER_MS: usize = 8;
/// Level of the loops before a gain is applied.
pub(crate) const LOOP_DBFS: f64 = -20.0;
const FULL_SCALE: f64 = 32_767.0;

/// Returns the factor of a level difference.
pub(crate) fn gain(db: f64) -> f64 {
    10_f64.powf(db / 20.0)
}

/// Returns whether the root mean square is above 1 % of full scale (-40 dBFS): far below speech, far
/// above a line's noise.
pub(crate) fn loud(samples: &[i16]) -> bool {
    let power: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    !samples.is_empty() && power / samples.len() as f64 > (327.0_f64).powi(2)
}

/// Random numbers between -1 and 1, always the same for the same seed (xorshift64).
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero is the one state that never changes.
        Self((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d).max(1))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Scales samples to a root mean square.
fn at_level(samples: &[f64], dbfs: f64) -> Vec<i16> {
    let power: f64 = samples.iter().map(|sample| sample * sample).sum();
    let rms = (power / samples.len().max(1) as f64).sqrt();
    let factor = if rms > 0.0 { gain(dbfs) * FULL_SCALE / rms } else { 0.0 };
    samples.iter().map(|sample| (sample * factor) as i16).collect()
}

/// 50 Hz and its harmonics, as from a bad power supply: one period, which is one frame.
pub(crate) static HUM: LazyLock<Vec<i16>> = LazyLock::new(|| {
    const LEVELS: [f64; 5] = [1.0, 0.6, 0.5, 0.3, 0.05];
    let sample = |n: u32| -> f64 {
        let harmonics = LEVELS.iter().zip(1_u32..);
        harmonics
            .map(|(level, k)| level * (TAU * 50.0 * f64::from(k * n) / RATE).sin())
            .sum()
    };
    at_level(&(0..160).map(sample).collect::<Vec<_>>(), LOOP_DBFS)
});

/// Music on hold: four chords of two seconds each.
pub(crate) static MUSIC: LazyLock<Vec<i16>> = LazyLock::new(|| {
    const CHORDS: [[f64; 4]; 4] = [
        [523.3, 659.3, 784.0, 1_046.5],
        [440.0, 523.3, 659.3, 880.0],
        [523.3, 698.5, 880.0, 1_046.5],
        [493.9, 587.3, 784.0, 987.8],
    ];
    const CHORD: u32 = 16_000;
    let sample = |n: u32| -> f64 {
        let (chord, within) = (CHORDS[(n / CHORD) as usize % 4], n % CHORD);
        let seconds = f64::from(within) / RATE;
        // Rises in 50 ms and fades to half until the next one.
        let swell = (seconds / 0.05).min(1.0) * (1.0 - 0.25 * seconds);
        let string = |hz: &f64| -> f64 {
            (1..=3)
                .map(|k| (TAU * hz * f64::from(k) * seconds).sin() / f64::from(k))
                .sum()
        };
        swell * chord.iter().map(string).sum::<f64>()
    };
    at_level(&(0..4 * CHORD).map(sample).collect::<Vec<_>>(), LOOP_DBFS)
});

/// Eight seconds of pink noise, by Kellet's filter.
pub(crate) static PINK: LazyLock<Vec<i16>> = LazyLock::new(|| {
    let mut noise = Noise::new(1);
    let (mut slow, mut middle, mut fast) = (0.0, 0.0, 0.0);
    let pink: Vec<f64> = (0..64_000)
        .map(|_| {
            let white = noise.next();
            slow = 0.997_65 * slow + white * 0.099_046;
            middle = 0.963 * middle + white * 0.296_516_4;
            fast = 0.57 * fast + white * 1.052_691_3;
            slow + middle + fast + white * 0.184_8
        })
        .collect();
    at_level(&pink, LOOP_DBFS)
});

/// Resonance at a frequency, as in a human mouth (two poles).
struct Resonator {
    feedback: (f64, f64),
    past: (f64, f64),
}

impl Resonator {
    fn new(hz: f64, width_hz: f64) -> Self {
        let radius = (-std::f64::consts::PI * width_hz / RATE).exp();
        Self {
            feedback: (2.0 * radius * (TAU * hz / RATE).cos(), -radius * radius),
            past: (0.0, 0.0),
        }
    }

    fn next(&mut self, input: f64) -> f64 {
        let output = input + self.feedback.0 * self.past.0 + self.feedback.1 * self.past.1;
        self.past = (output, self.past.0);
        output
    }
}

/// Returns a cough of 250 ms: breath bursts through an open mouth, then a shorter push.
pub(crate) fn cough(seed: u64) -> Vec<i16> {
    const MS: usize = 250;
    const DBFS: f64 = -18.0;
    let mut noise = Noise::new(seed);
    let mut voice = [
        (Resonator::new(650.0, 160.0), 1.0),
        (Resonator::new(1_250.0, 220.0), 0.7),
        (Resonator::new(2_600.0, 350.0), 0.4),
    ];
    let breath = |ms: f64, from: f64, fades_ms: f64| {
        let since = ms - from;
        if since < 0.0 {
            0.0
        } else {
            (since / 4.0).min(1.0) * (-since / fades_ms).exp()
        }
    };
    let sample = |n: usize| -> f64 {
        let ms = n as f64 / SAMPLES_PER_MS as f64;
        let strength = breath(ms, 0.0, 60.0) + 0.6 * breath(ms, 130.0, 45.0);
        let input = noise.next() * strength;
        voice
            .iter_mut()
            .map(|(resonator, level)| *level * resonator.next(input))
            .sum()
    };
    at_level(&(0..MS * SAMPLES_PER_MS).map(sample).collect::<Vec<_>>(), DBFS)
}

/// Returns the click of a switch: 3 ms that ring at 1.8 kHz.
pub(crate) fn click() -> Vec<i16> {
    let sample = |n: u32| {
        let seconds = f64::from(n) / RATE;
        (TAU * 1_800.0 * seconds).sin() * (-seconds / 0.001).exp() * FULL_SCALE * 0.7
    };
    (0..24).map(|n| sample(n) as i16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dbfs(samples: &[i16]) -> f64 {
        let power: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        10.0 * (power / samples.len() as f64 / FULL_SCALE.powi(2)).log10()
    }

    /// Returns the share of a signal's power at a frequency.
    fn share_at(samples: &[i16], hz: f64) -> f64 {
        let (mut re, mut im, mut all) = (0.0, 0.0, 0.0);
        for (n, sample) in samples.iter().enumerate() {
            let (sample, angle) = (f64::from(*sample), TAU * hz * n as f64 / RATE);
            re += sample * angle.cos();
            im += sample * angle.sin();
            all += sample * sample;
        }
        2.0 * (re * re + im * im) / (samples.len() as f64 * all)
    }

    #[test]
    fn every_sound_has_its_level_and_is_not_clipped() {
        for (name, samples, level) in [
            ("hum", &*HUM, LOOP_DBFS),
            ("music", &*MUSIC, LOOP_DBFS),
            ("pink", &*PINK, LOOP_DBFS),
            ("cough", &cough(3), -18.0),
        ] {
            assert!((dbfs(samples) - level).abs() < 0.2, "{name}: {}", dbfs(samples));
            let clipped = samples.iter().filter(|sample| sample.unsigned_abs() > 32_700).count();
            assert!(clipped <= samples.len() / 500, "{name}: {clipped} samples are clipped");
        }
        assert_eq!((cough(3).len(), click().len()), (2_000, 24));
        assert_ne!(cough(3), cough(4));
        assert_eq!(cough(3), cough(3));
    }

    #[test]
    fn hum_lies_at_fifty_hertz_and_pink_noise_falls_by_three_decibels_an_octave() {
        let hum: Vec<i16> = HUM.iter().copied().cycle().take(8_000).collect();
        assert!(share_at(&hum, 50.0) > 0.4 && share_at(&hum, 100.0) > 0.1);
        let band = |from: f64| -> f64 {
            let steps = (0..100).map(|n| share_at(&PINK[..16_000], from * (1.0 + f64::from(n) / 100.0)));
            steps.sum()
        };
        let fall = 10.0 * (band(250.0) / band(1_000.0)).log10();
        assert!(
            (4.0..8.0).contains(&fall),
            "two octaves up it is {fall} dB weaker a hertz"
        );
    }

    #[test]
    fn a_cough_is_loud_at_once_and_fades() {
        let cough = cough(1);
        let (first, last) = (dbfs(&cough[..400]), dbfs(&cough[1_840..]));
        assert!(first > -15.0 && last < first - 8.0, "{first} {last}");
    }
}
