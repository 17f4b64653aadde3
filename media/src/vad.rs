//! Voice activity of a line: an absolute energy gate in front of a neural detector, so that silence costs
//! almost nothing. The detector decides whether there is voice; energy dates its first and last block.

mod gate;
mod steady;

use std::collections::VecDeque;

use earshot::Detector;
use gate::Gate;
use steady::Steady;

/// Length of a block, the unit that the detector judges, in milliseconds.
pub const BLOCK_MS: u32 = 16;

/// Samples of a block at the detector's 16 kHz.
const DETECTOR_BLOCK: usize = 256;

/// Score at which voice begins. Measured: speech scores at least 0.6 in 88 to 94 % of its frames.
const OPEN_SCORE: f32 = 0.6;

/// Score below which voice ends.
const CLOSE_SCORE: f32 = 0.4;

/// Blocks kept while the gate is closed and passed to the detector first when it opens: 96 ms.
const PRE_ROLL_BLOCKS: usize = 6;

/// Most blocks by which energy may date the onset before the detector's verdict. The detector opens 24 to 88
/// ms late, later on a new line, and 248 ms late in noise 10 dB below the voice.
const ONSET_BLOCKS: u64 = 12;

/// Quiet blocks that a sound may contain: 32 ms, more than the gaps between words of babble.
const QUIET_BLOCKS: u32 = 2;

/// Level in dB above the line's noise below which a block is not voiced, so that noise ends a voice that the
/// detector still hears in it.
const ABOVE_NOISE_DB: f32 = 5.0;

/// Share per block by which the noise is followed upwards while there is no voice: a time constant of 0.8 s, so that
/// the time before the detector opens does not count.
const NOISE_RISE: f32 = 0.02;
/// Share per block by which the noise is followed downwards, even within voice: a time constant of 50 ms.
const NOISE_FALL: f32 = 0.3;

/// Loudest level assumed for noise in dBFS. With a louder one, voices would be lost.
const MOST_NOISE_DB: f32 = -28.0;

/// Level in dBFS assumed for the noise at first.
const LEAST_NOISE_DB: f32 = -60.0;

/// Verdict on one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Position one past the block, in samples of the line since the start.
    pub end: u64,
    /// Position at which the present voice began, while there is voice.
    pub onset: Option<u64>,
    /// Position at which the present sound louder than the line's noise began, voice or not.
    pub sound: Option<u64>,
    /// Position up to which this block has energy, while there is voice. It is finer than a block, so that
    /// the end of voice is not dated after the line's frame that brought it.
    pub voiced_until: Option<u64>,
    /// Level above 200 Hz in dBFS; at least -100.
    pub level_db: f32,
}

/// Voice activity of one line of 8 or 16 kHz.
pub struct Vad {
    gate: Gate,
    detector: Box<Detector>,
    /// High-passed samples that do not fill a block yet.
    partial: Vec<i16>,
    block: usize,
    pre_roll: VecDeque<[i16; DETECTOR_BLOCK]>,
    position: u64,
    loud_since: Option<u64>,
    quiet_blocks: u32,
    onset: Option<u64>,
    steady: Steady,
    noise_db: f32,
}

impl Vad {
    /// Creates a detector for a line of `sample_rate` Hz: 16000, otherwise 8000 is assumed.
    pub fn new(sample_rate: u32) -> Self {
        let wide = sample_rate == 16_000;
        let block = if wide { DETECTOR_BLOCK } else { DETECTOR_BLOCK / 2 };
        Self {
            gate: Gate::new(if wide { 16_000 } else { 8_000 }),
            detector: Detector::default_boxed(),
            partial: Vec::with_capacity(block),
            block,
            pre_roll: VecDeque::with_capacity(PRE_ROLL_BLOCKS),
            position: 0,
            loud_since: None,
            quiet_blocks: 0,
            onset: None,
            steady: Steady::default(),
            noise_db: LEAST_NOISE_DB,
        }
    }

    /// Takes any number of samples of the line, in order, and gives the verdict on each block they fill.
    pub fn process(&mut self, samples: &[i16], mut verdict: impl FnMut(Block)) {
        for &sample in samples {
            self.partial.push(self.gate.filter(sample));
            if self.partial.len() == self.block {
                let block = self.judge();
                self.partial.clear();
                verdict(block);
            }
        }
    }

    fn judge(&mut self) -> Block {
        let start = self.position;
        self.position += self.block as u64;
        let was_open = self.gate.is_open();
        let power = gate::power(&self.partial);
        let level_db = 10.0 * power.max(1.0e-10).log10();
        let loud = self.gate.admit(power) && level_db >= self.noise_db + ABOVE_NOISE_DB;
        self.follow_noise(level_db);
        self.date_sound(loud, start);
        let frame = self.frame();
        if !self.gate.is_open() {
            self.onset = None;
            self.keep(frame);
            return self.block(None, level_db);
        }
        if !was_open {
            for earlier in self.pre_roll.drain(..) {
                self.detector.predict_i16(&earlier);
            }
        }
        let score = self.detector.predict_i16(&frame);
        let threshold = if self.onset.is_some() { CLOSE_SCORE } else { OPEN_SCORE };
        let tone = loud && self.steady.is_tone(&self.at_8_khz(), self.onset.is_some());
        self.onset = (score >= threshold && !tone).then(|| self.onset.unwrap_or_else(|| self.date_onset(start)));
        let until = (loud && self.onset.is_some()).then(|| start + gate::loud_until(&self.partial) as u64);
        self.block(until, level_db)
    }

    fn block(&self, voiced_until: Option<u64>, level_db: f32) -> Block {
        Block {
            end: self.position,
            onset: self.onset,
            sound: self.loud_since,
            voiced_until,
            level_db,
        }
    }

    fn follow_noise(&mut self, level_db: f32) {
        let off = level_db - self.noise_db;
        let noise_db = match (off < 0.0, self.onset) {
            (true, _) => self.noise_db + off * NOISE_FALL,
            (false, None) => self.noise_db + off * NOISE_RISE,
            (false, Some(_)) => self.noise_db,
        };
        self.noise_db = noise_db.clamp(LEAST_NOISE_DB, MOST_NOISE_DB);
    }

    /// Tracks the start of the present sound.
    fn date_sound(&mut self, loud: bool, start: u64) {
        self.quiet_blocks = if loud { 0 } else { self.quiet_blocks.saturating_add(1) };
        if loud {
            self.loud_since = self.loud_since.or(Some(start));
        } else if self.quiet_blocks > QUIET_BLOCKS {
            self.loud_since = None;
        }
    }

    fn date_onset(&self, start: u64) -> u64 {
        let earliest = start.saturating_sub(ONSET_BLOCKS * self.block as u64);
        self.loud_since.unwrap_or(start).max(earliest)
    }

    /// Returns the block at 16 kHz. Samples of 8 kHz are held, not interpolated: cleanly upsampled audio has
    /// nothing above 4 kHz, and the detector takes steady noise of that kind for speech.
    fn frame(&self) -> [i16; DETECTOR_BLOCK] {
        let mut frame = [0; DETECTOR_BLOCK];
        if self.block == DETECTOR_BLOCK {
            frame
                .iter_mut()
                .zip(&self.partial)
                .for_each(|(to, &sample)| *to = sample);
        } else {
            // The constant length of a pair turns this into a few vector operations.
            for (pair, &sample) in frame.chunks_exact_mut(2).zip(&self.partial) {
                pair.fill(sample);
            }
        }
        frame
    }

    /// Returns the block at 8 kHz for the tone detector. At 16 kHz, a voice without its upper band changes so
    /// little from sample to sample that it could be predicted like a tone. What folds down from above 4 kHz
    /// does no harm: a tone stays a tone.
    fn at_8_khz(&self) -> [i16; DETECTOR_BLOCK / 2] {
        let step = self.block / (DETECTOR_BLOCK / 2);
        std::array::from_fn(|n| self.partial[n * step])
    }

    fn keep(&mut self, frame: [i16; DETECTOR_BLOCK]) {
        if self.pre_roll.len() == PRE_ROLL_BLOCKS {
            self.pre_roll.pop_front();
        }
        self.pre_roll.push_back(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::babble::{Speaker, Voice};

    fn noise(len: usize, rms: f64, seed: u64) -> Vec<i16> {
        let mut state = seed | 1;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        (0..len)
            .map(|_| (uniform() * 3f64.sqrt() * rms * 32_768.0) as i16)
            .collect()
    }

    fn voiced_blocks(rate: u32, samples: &[i16]) -> Vec<Block> {
        let mut blocks = Vec::new();
        Vad::new(rate).process(samples, |block| blocks.push(block));
        blocks
    }

    /// Returns vowel-like sound: harmonics of 120 Hz under moving formants, with syllables.
    fn speech(ms: usize) -> Vec<i16> {
        (0..ms * 8)
            .map(|n| {
                let t = n as f64 / 8_000.0;
                let f1 = 500.0 + 250.0 * (t * 2.0 * std::f64::consts::PI * 3.0).sin();
                let f2 = 1_500.0 + 500.0 * (t * 2.0 * std::f64::consts::PI * 2.3).sin();
                let swell = 0.6 + 0.4 * (t * 2.0 * std::f64::consts::PI * 4.0).sin();
                let sum: f64 = (1..28)
                    .map(|h| {
                        let f = 120.0 * f64::from(h);
                        let near = |c: f64| 1.0 / (1.0 + ((f - c) / 90.0).powi(2));
                        (near(f1) + 0.7 * near(f2) + 0.3 * near(2_600.0)) * (2.0 * std::f64::consts::PI * f * t).sin()
                    })
                    .sum();
                (sum * swell * 4_000.0) as i16
            })
            .collect()
    }

    #[test]
    fn line_noise_of_minus_50_dbfs_is_not_speech_and_never_reaches_the_detector() {
        let mut vad = Vad::new(8_000);
        let rms = 10f64.powf(-50.0 / 20.0);
        for frame in noise(8_000 * 20, rms, 7).chunks(160) {
            vad.process(frame, |block| assert!(block.onset.is_none(), "{block:?}"));
            assert!(!vad.gate.is_open());
        }
    }

    #[test]
    fn louder_steady_noise_is_not_speech_either() {
        let rms = 10f64.powf(-40.0 / 20.0);
        let blocks = voiced_blocks(8_000, &noise(8_000 * 10, rms, 3));
        let voiced = blocks.iter().filter(|b| b.voiced_until.is_some()).count();
        assert!(voiced * 20 < blocks.len(), "{voiced} of {}", blocks.len());
    }

    #[test]
    fn mains_hum_does_not_open_the_gate() {
        let mut vad = Vad::new(8_000);
        let hum: Vec<i16> = (0..80_000)
            .map(|n| (2_000.0 * (f64::from(n) * 2.0 * std::f64::consts::PI * 50.0 / 8_000.0).sin()) as i16)
            .collect();
        for frame in hum.chunks(160).skip(5) {
            vad.process(frame, |block| assert!(block.voiced_until.is_none()));
            assert!(!vad.gate.is_open());
        }
    }

    #[test]
    fn a_voice_of_a_telephone_is_one_voice_at_both_rates_and_a_tone_is_none() {
        for rate in [8_000, 16_000] {
            let silence = vec![0; rate as usize / 2];
            let mut speaker = Speaker::new("What does a cleaning cost?", Voice::named("ann"), rate).unwrap();
            let mut voice = silence.clone();
            while let Some(chunk) = speaker.next_chunk(160) {
                voice.extend(chunk);
            }
            voice.extend(&silence);
            let mut onsets: Vec<u64> = voiced_blocks(rate, &voice).iter().filter_map(|b| b.onset).collect();
            onsets.dedup();
            assert_eq!(onsets.len(), 1, "{rate} Hz");
            for hz in [[425.0; 2], [440.0, 480.0], [5_000.0; 2]] {
                let part = |n: u32, hz: f64| (f64::from(n) * std::f64::consts::TAU * hz / f64::from(rate)).sin();
                let tone: Vec<i16> = (0..rate)
                    .map(|n| (hz.map(|hz| part(n, hz)).iter().sum::<f64>() * 3_000.0) as i16)
                    .collect();
                let voiced = voiced_blocks(rate, &tone).iter().filter(|b| b.onset.is_some()).count();
                assert!(voiced <= 5, "{rate} Hz, {hz:?}: {voiced}");
            }
        }
    }

    #[test]
    fn speech_is_dated_by_its_energy_at_both_ends() {
        let mut audio = vec![0i16; 8_000];
        audio.extend(speech(1_500));
        audio.extend(vec![0i16; 8_000]);
        let blocks = voiced_blocks(8_000, &audio);
        let onset = blocks.iter().find_map(|b| b.onset).unwrap();
        let last = blocks.iter().filter_map(|b| b.voiced_until).next_back().unwrap();
        assert!((7_600..9_200).contains(&onset), "onset {onset}");
        assert!((19_400..20_400).contains(&last), "end {last}");
    }

    #[test]
    fn the_end_of_voice_is_dated_within_its_block() {
        // Ends of voice at every place within a block. None is dated more than 4 ms and a ring later.
        for end_ms in 1_000..1_016 {
            let mut audio = vec![0i16; 8_000];
            audio.extend(speech(end_ms));
            audio.extend(vec![0i16; 8_000]);
            let blocks = voiced_blocks(8_000, &audio);
            let last = blocks.iter().filter_map(|b| b.voiced_until).next_back().unwrap();
            let end = 8_000 + end_ms as u64 * 8;
            assert!((end - 16 * 8..=end + 4 * 8).contains(&last), "{end_ms}: {end} {last}");
        }
    }

    #[test]
    fn blocks_follow_each_other_whatever_the_pieces() {
        let audio = speech(700);
        let whole = voiced_blocks(8_000, &audio);
        let mut pieces = Vec::new();
        let mut vad = Vad::new(8_000);
        for piece in audio.chunks(37) {
            vad.process(piece, |block| pieces.push(block));
        }
        assert_eq!(whole, pieces);
        assert!(whole.iter().zip(1u64..).all(|(block, n)| block.end == n * 128));
    }
}
