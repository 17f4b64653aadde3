//! Background of one line beneath its callee: noise, hum, music, and an echo of the agent's own voice. Pure.
//! A clean line has no backdrop and no cost.

use std::collections::VecDeque;

use media::{codec, format::Encoding};

use crate::exchange::{
    audio::{
        line::FRAME,
        sound::{self, HUM, LOOP_DBFS, MUSIC, Noise, PINK},
    },
    script::{Echo, LineSound},
};

const SAMPLES_PER_MS: u64 = 8;
/// Longest delay of an echo.
const LONGEST_DELAY_MS: u64 = 2_000;

/// A sound that repeats forever.
struct Loop {
    samples: &'static [i16],
    at: usize,
    gain: f32,
}

impl Loop {
    fn new(samples: &'static [i16], dbfs: f64, at: u64) -> Self {
        Self {
            samples,
            at: usize::try_from(at).unwrap_or(0) % samples.len(),
            gain: sound::gain(dbfs - LOOP_DBFS) as f32,
        }
    }

    fn add_to(&mut self, frame: &mut [f32]) {
        for sample in frame {
            *sample += f32::from(self.samples[self.at]) * self.gain;
            self.at += 1;
            if self.at == self.samples.len() {
                self.at = 0;
            }
        }
    }
}

/// Echo of the played audio.
struct Returning {
    samples: VecDeque<i16>,
    gain: f32,
    decoded: Vec<i16>,
}

impl Returning {
    fn new(echo: Echo) -> Self {
        let delay = echo.delay_ms.min(LONGEST_DELAY_MS) * SAMPLES_PER_MS;
        Self {
            samples: (0..delay).map(|_| 0).collect(),
            gain: sound::gain(echo.gain_db) as f32,
            decoded: Vec::with_capacity(FRAME),
        }
    }

    fn add_to(&mut self, frame: &mut [f32], played: &[u8]) {
        self.decoded.clear();
        codec::decode(Encoding::MuLaw, played, &mut self.decoded);
        self.decoded.resize(FRAME, 0);
        self.samples.extend(&self.decoded);
        for (sample, back) in frame.iter_mut().zip(self.samples.drain(..FRAME)) {
            *sample += f32::from(back) * self.gain;
        }
    }
}

/// Background of one line.
pub(super) struct Backdrop {
    loops: Vec<Loop>,
    echo: Option<Returning>,
}

impl Backdrop {
    /// Returns `None` for a silent line. `seed` makes lines start at different places of the shared loops.
    pub(super) fn new(line: &LineSound, seed: u64) -> Option<Self> {
        let mut noise = Noise::new(seed);
        let sources: [(Option<f64>, &'static [i16]); 3] = [
            (line.noise_dbfs, &PINK),
            (line.hum_dbfs, &HUM),
            (line.music_dbfs, &MUSIC),
        ];
        let loops: Vec<Loop> = sources
            .into_iter()
            .filter_map(|(dbfs, samples)| Some(Loop::new(samples, dbfs?, noise.bits())))
            .collect();
        let silent = loops.is_empty() && line.echo.is_none();
        (!silent).then(|| Self {
            loops,
            echo: line.echo.map(Returning::new),
        })
    }

    /// Mixes a frame of background with the callee's voice (empty if it is silent), as mu-law.
    pub(super) fn beneath(&mut self, voice: &[i16], played: &[u8]) -> Vec<u8> {
        let mut frame = [0_f32; FRAME];
        for (sample, voice) in frame.iter_mut().zip(voice) {
            *sample = f32::from(*voice);
        }
        for source in &mut self.loops {
            source.add_to(&mut frame);
        }
        if let Some(echo) = &mut self.echo {
            echo.add_to(&mut frame, played);
        }
        // A cast from float to integer saturates.
        let mixed: Vec<i16> = frame.iter().map(|sample| *sample as i16).collect();
        let mut bytes = Vec::with_capacity(FRAME);
        codec::encode(Encoding::MuLaw, &mixed, &mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: LineSound, voice: &[i16], played: &[u8], frames: usize) -> Vec<i16> {
        let mut backdrop = Backdrop::new(&line, 1).unwrap();
        let mut samples = Vec::new();
        for n in 0..frames {
            let piece = |all: &[i16]| all.chunks(FRAME).nth(n).unwrap_or_default().to_vec();
            let played = played.chunks(FRAME).nth(n).unwrap_or_default();
            let bytes = backdrop.beneath(&piece(voice), played);
            codec::decode(Encoding::MuLaw, &bytes, &mut samples);
        }
        samples
    }

    fn dbfs(samples: &[i16]) -> f64 {
        let power: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
        10.0 * (power / samples.len() as f64 / 32_767.0_f64.powi(2)).log10()
    }

    #[test]
    fn a_clean_line_has_none() {
        assert!(Backdrop::new(&LineSound::default(), 1).is_none());
    }

    #[test]
    fn each_sound_has_the_level_asked_for() {
        let none = LineSound::default();
        for line in [
            LineSound {
                noise_dbfs: Some(-30.0),
                ..none
            },
            LineSound {
                hum_dbfs: Some(-30.0),
                ..none
            },
            LineSound {
                music_dbfs: Some(-30.0),
                ..none
            },
        ] {
            let level = dbfs(&run(line, &[], &[], 400));
            assert!((level + 30.0).abs() < 0.5, "{line:?}: {level}");
        }
    }

    #[test]
    fn the_agent_s_voice_comes_back_later_and_softer() {
        let echo = Some(Echo {
            gain_db: -20.0,
            delay_ms: 150,
        });
        let line = LineSound {
            echo,
            ..LineSound::default()
        };
        let tone = media::tone::generate::tones(&[500.0], 100);
        let mut played = Vec::new();
        codec::encode(Encoding::MuLaw, &tone, &mut played);
        let back = run(line, &[], &played, 20);
        assert!(back[..1_200].iter().all(|sample| *sample == 0));
        let level = dbfs(&back[1_200..2_000]) - dbfs(&tone);
        assert!((level + 20.0).abs() < 0.5, "{level}");
        assert!(back[2_000..].iter().all(|sample| *sample == 0));
    }

    #[test]
    fn a_voice_above_it_is_not_clipped_around() {
        let voice = vec![32_000_i16; FRAME];
        let line = LineSound {
            noise_dbfs: Some(-20.0),
            ..LineSound::default()
        };
        assert!(run(line, &voice, &[], 1).iter().all(|sample| *sample > 0));
    }
}
