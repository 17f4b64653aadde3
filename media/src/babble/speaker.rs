//! The speaker: additive synthesis of the sounds, block by block on demand.

use std::f32::consts::{PI, TAU};

use crate::playout::WordEnd;

use super::{
    packet::{self, Place},
    sound::{FORMANTS, LEAD_IN_SOUNDS, LEAD_IN_VOWEL, PAUSE_MS, Sound, band_hz, bands_of},
    voice::Voice,
};

/// Highest harmonic in Hz: the upper end of the telephone band.
const HIGHEST_HZ: f32 = 3_350.0;
/// Highest harmonic of the hum in Hz.
const HUM_HIGHEST_HZ: f32 = 900.0;
/// Most harmonics: the highest frequency over the lowest pitch (105 Hz less 8 %).
const HARMONICS: usize = 36;
/// Width of the first formant in Hz. Each further one is 15 % of it wider.
const FORMANT_WIDTH_HZ: f32 = 90.0;
/// Amplitude of each formant relative to the first.
const FORMANT_LEVELS: [f32; FORMANTS] = [1.0, 0.8, 0.6];
/// Root mean square of a vowel, relative to full scale.
const RMS: f32 = 0.1;
/// Highest sample, relative to full scale.
const PEAK: f32 = 0.35;
/// Swells of the loudness per second, like syllables.
const SWELL_HZ: f32 = 4.5;
/// Attenuation at the quietest moment of a swell.
const SWELL_DEPTH: f32 = 0.25;
/// Milliseconds of the transition from one sound to the next.
const JOIN_MS: u32 = 8;
/// Number of samples computed side by side.
const BLOCK: usize = 8;

/// Error: a sample rate the speaker does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("babble speaks at 8000 or 16000 Hz, not at {0} Hz")]
pub struct UnsupportedRate(pub u32);

type Amplitudes = [f32; HARMONICS];

/// Speaks one text, as fast as it is asked to. About 13 characters last a second.
#[derive(Debug, Clone)]
pub struct Speaker {
    voice: Voice,
    rate: u32,
    plan: Vec<Sound>,
    words: Vec<WordEnd>,
    total: u64,
    /// Index of the present sound, and the number of its samples that are done.
    current: usize,
    within: usize,
    /// Number of samples done.
    done: u64,
    /// Phase of the fundamental, in turns.
    phase: f32,
    /// Harmonics of the previous, the present and the next sound.
    amplitudes: [Amplitudes; 3],
}

impl Speaker {
    /// Plans a text. Samples are computed on demand.
    ///
    /// # Errors
    /// Returns an error if the rate is neither 8000 nor 16000 Hz.
    pub fn new(text: &str, voice: Voice, sample_rate: u32) -> Result<Self, UnsupportedRate> {
        if !matches!(sample_rate, 8_000 | 16_000) {
            return Err(UnsupportedRate(sample_rate));
        }
        let (plan, words) = plan(text, sample_rate);
        let total = plan.iter().map(|sound| sound.samples(sample_rate) as u64).sum();
        let mut speaker = Self {
            voice,
            rate: sample_rate,
            plan,
            words,
            total,
            current: 0,
            within: 0,
            done: 0,
            phase: 0.0,
            amplitudes: [[0.0; HARMONICS]; 3],
        };
        let first = speaker.samples_of(0) as u64;
        speaker.amplitudes[1] = speaker.harmonics_of(0, 0);
        speaker.amplitudes[2] = speaker.harmonics_of(1, first);
        Ok(speaker)
    }

    /// Returns the end of each word of the text, in order.
    pub fn words(&self) -> &[WordEnd] {
        &self.words
    }

    /// Returns the number of samples of the whole speech.
    pub fn total_samples(&self) -> u64 {
        self.total
    }

    /// Computes the next `max_samples` (rounded down to a multiple of 8, but at least 8). Returns `None` at the end.
    pub fn next_chunk(&mut self, max_samples: usize) -> Option<Vec<i16>> {
        if self.done == self.total {
            return None;
        }
        let left = usize::try_from(self.total - self.done).unwrap_or(usize::MAX);
        let blocks = (max_samples / BLOCK).max(1).min(left / BLOCK);
        let mut chunk = Vec::with_capacity(blocks * BLOCK);
        for _ in 0..blocks {
            chunk.extend_from_slice(&self.next_block());
        }
        Some(chunk)
    }

    fn next_block(&mut self) -> [i16; BLOCK] {
        let length = self.samples_of(self.current);
        let step = self.pitch_hz(self.done) / self.rate as f32;
        let swell = TAU * SWELL_HZ * (self.done % (2 * u64::from(self.rate))) as f32 / self.rate as f32;
        let swell = 1.0 - SWELL_DEPTH * (0.5 - 0.5 * swell.cos());
        let half_join = (JOIN_MS * self.rate / 2_000) as usize;
        let [before, here, behind] = &self.amplitudes;
        let sines = Sines::new(self.phase, step);
        let mut samples = sines.sum(here);
        if self.within < half_join {
            sines.fade(before, &mut samples, |n| self.within + n, half_join);
        } else if self.within + half_join >= length {
            sines.fade(behind, &mut samples, |n| length - self.within - n, half_join);
        }
        self.phase = (self.phase + BLOCK as f32 * step).fract();
        self.advance(length);
        samples.map(|sample| ((swell * sample).clamp(-PEAK, PEAK) * 32_767.0).round() as i16)
    }

    fn advance(&mut self, length: usize) {
        self.done += BLOCK as u64;
        self.within += BLOCK;
        if self.within >= length {
            self.within = 0;
            self.current += 1;
            let next = self.done + self.samples_of(self.current) as u64;
            let [_, here, behind] = self.amplitudes;
            self.amplitudes = [here, behind, self.harmonics_of(self.current + 1, next)];
        }
    }

    fn samples_of(&self, index: usize) -> usize {
        self.plan.get(index).map_or(0, |sound| sound.samples(self.rate))
    }

    fn pitch_hz(&self, sample: u64) -> f32 {
        let seconds = sample as f32 / self.rate as f32;
        self.voice.pitch_hz(seconds, sample as f32 / self.total.max(1) as f32)
    }

    /// Returns the harmonics of the sound at `index`, which starts at sample `start`, at the pitch of its middle.
    fn harmonics_of(&self, index: usize, start: u64) -> Amplitudes {
        let pitch = self.pitch_hz(start + self.samples_of(index) as u64 / 2);
        match self.plan.get(index) {
            None | Some(Sound::Pause(_)) => [0.0; HARMONICS],
            Some(Sound::Hum) => spectrum(pitch, HUM_HIGHEST_HZ, &[(band_hz(0), 1.0)]),
            Some(&Sound::Vowel(vowel)) => {
                let bands = bands_of(vowel);
                let formants: [_; FORMANTS] = std::array::from_fn(|n| (band_hz(bands[n]), FORMANT_LEVELS[n]));
                spectrum(pitch, HIGHEST_HZ, &formants)
            }
        }
    }
}

/// Plans the order of the sounds and the ends of the words.
fn plan(text: &str, rate: u32) -> (Vec<Sound>, Vec<WordEnd>) {
    let (mut plan, mut words) = (Vec::new(), Vec::new());
    let packets = packet::cut(text);
    let count = packets.len();
    if count == 0 {
        return (plan, words);
    }
    plan.push(Sound::Pause(JOIN_MS));
    plan.extend([Sound::Vowel(LEAD_IN_VOWEL); LEAD_IN_SOUNDS]);
    let mut samples: u64 = plan.iter().map(|sound| sound.samples(rate) as u64).sum();
    let mut ends = word_ends(text).peekable();
    let mut bytes = 0;
    for (n, packet) in packets.into_iter().enumerate() {
        let place = Place {
            first: n == 0,
            last: n + 1 == count,
        };
        let from = plan.len();
        plan.extend([Sound::Pause(PAUSE_MS), Sound::Hum]);
        let vowels = packet::to_vowels((n % 4) as u8, packet.as_bytes(), place);
        plan.extend(vowels.into_iter().map(Sound::Vowel));
        samples += plan[from..].iter().map(|sound| sound.samples(rate) as u64).sum::<u64>();
        bytes += packet.len();
        while let Some(text_end) = ends.next_if(|&end| end <= bytes) {
            words.push(WordEnd {
                text_end,
                sample_end: samples,
            });
        }
    }
    plan.push(Sound::Pause(PAUSE_MS));
    (plan, words)
}

/// Returns the byte offset one past each word.
fn word_ends(text: &str) -> impl Iterator<Item = usize> {
    text.split_whitespace()
        .map(|word| word.as_ptr().addr() - text.as_ptr().addr() + word.len())
}

/// Returns the harmonics of a pitch under formants (middle in Hz, level).
fn spectrum(pitch: f32, highest_hz: f32, formants: &[(f32, f32)]) -> Amplitudes {
    let mut sum = [0.0; HARMONICS];
    let count = ((highest_hz / pitch) as usize).min(HARMONICS);
    for (n, &(middle, level)) in formants.iter().enumerate() {
        let half_width = FORMANT_WIDTH_HZ * (1.0 + 0.15 * n as f32) / 2.0;
        let mut one = [0.0; HARMONICS];
        for (k, amplitude) in one[..count].iter_mut().enumerate() {
            let off = ((k + 1) as f32 * pitch - middle) / half_width;
            *amplitude = 1.0 / (1.0 + off * off);
        }
        // Each formant is normalised to its own power. Otherwise a formant between two harmonics of a high
        // voice would vanish, and the vowel would look like a hum.
        add_scaled(&mut sum, &one, level / power(&one).sqrt());
    }
    let mut scaled = [0.0; HARMONICS];
    // A sine of amplitude 1 has a mean square of a half.
    add_scaled(&mut scaled, &sum, RMS * (2.0 / power(&sum)).sqrt());
    for (k, amplitude) in scaled.iter_mut().enumerate() {
        // Signs of a quadratic phase spread the energy over the period, which keeps the peaks low.
        let turns = (k * k) as f32 / (2.0 * count as f32);
        if (TAU * turns / 2.0).cos() < 0.0 {
            *amplitude = -*amplitude;
        }
    }
    scaled
}

fn power(amplitudes: &Amplitudes) -> f32 {
    amplitudes.iter().map(|a| a * a).sum::<f32>().max(f32::MIN_POSITIVE)
}

fn add_scaled(sum: &mut Amplitudes, other: &Amplitudes, scale: f32) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += scale * other;
    }
}

/// The fundamental over one block of samples. The harmonics follow from it by recurrence.
struct Sines {
    sine: [f32; BLOCK],
    cosine: [f32; BLOCK],
}

impl Sines {
    fn new(phase: f32, step: f32) -> Self {
        let (turn_sine, turn_cosine) = (TAU * step).sin_cos();
        let (mut sine, mut cosine) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (mut s, mut c) = (TAU * phase).sin_cos();
        for n in 0..BLOCK {
            (sine[n], cosine[n]) = (s, c);
            (s, c) = (s * turn_cosine + c * turn_sine, c * turn_cosine - s * turn_sine);
        }
        Self { sine, cosine }
    }

    /// Returns the sum of all harmonics: sin((k+1)φ) = 2 cos φ · sin(kφ) − sin((k−1)φ).
    fn sum(&self, amplitudes: &Amplitudes) -> [f32; BLOCK] {
        let mut sum = [0.0; BLOCK];
        let (mut older, mut newer) = ([0.0; BLOCK], self.sine);
        for amplitude in amplitudes {
            for n in 0..BLOCK {
                sum[n] += amplitude * newer[n];
                let next = 2.0 * self.cosine[n] * newer[n] - older[n];
                older[n] = newer[n];
                newer[n] = next;
            }
        }
        sum
    }

    /// Fades `samples` into those of another sound across a border that is `distance(n)` samples away, along
    /// a raised cosine: half and half at the border, and pure at `half_join` samples from it.
    fn fade(
        &self,
        other: &Amplitudes,
        samples: &mut [f32; BLOCK],
        distance: impl Fn(usize) -> usize,
        half_join: usize,
    ) {
        let others = self.sum(other);
        for n in 0..BLOCK {
            let unavailable = distance(n) as f32 / half_join as f32;
            let share = 0.5 - 0.5 * (PI / 2.0 * unavailable.min(1.0)).sin();
            samples[n] += share * (others[n] - samples[n]);
        }
    }
}
