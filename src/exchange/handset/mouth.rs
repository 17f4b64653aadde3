//! A callee's voice, frame by frame, and what a line sounds like when nobody speaks. Pure.

use media::{
    babble::{Speaker, Voice},
    codec,
    format::Encoding,
};

use super::loud;
use crate::exchange::{line::FRAME, log::LogEvent, wire};

/// Samples a second.
const RATE: u32 = 8_000;
/// A mailbox's tone.
const BEEP_HZ: f64 = 1_000.0;
const BEEP_FRAMES: u32 = 20;
/// Its level, of full scale.
const BEEP_LEVEL: f64 = 0.3;

enum Source {
    Words { speaker: Box<Speaker>, text: String },
    Beep { frame: u32 },
}

struct Speaking {
    source: Source,
    over_agent: bool,
    from_ms: Option<u64>,
    to_ms: u64,
}

impl Speaking {
    fn into_log(self) -> LogEvent {
        match self.source {
            Source::Words { text, .. } => LogEvent::Said {
                text,
                from_ms: self.from_ms.unwrap_or(self.to_ms),
                to_ms: self.to_ms,
                over_agent: self.over_agent,
            },
            Source::Beep { .. } => LogEvent::Beeped { to_ms: self.to_ms },
        }
    }
}

/// What comes out in a frame.
pub(super) enum Output {
    Silence,
    Sound(Vec<i16>),
    /// The last sound was in the frame before.
    Finished(LogEvent),
}

pub(super) struct Mouth {
    voice: Voice,
    speaking: Option<Speaking>,
}

impl Mouth {
    pub(super) fn new(voice: Voice) -> Self {
        Self { voice, speaking: None }
    }

    pub(super) fn say(&mut self, text: String, over_agent: bool) {
        // Never refused: the speaker knows this rate.
        if let Ok(speaker) = Speaker::new(&text, self.voice, RATE) {
            let speaker = Box::new(speaker);
            self.begin(Source::Words { speaker, text }, over_agent);
        }
    }

    pub(super) fn beep(&mut self) {
        self.begin(Source::Beep { frame: 0 }, false);
    }

    fn begin(&mut self, source: Source, over_agent: bool) {
        self.speaking = Some(Speaking {
            source,
            over_agent,
            from_ms: None,
            to_ms: 0,
        });
    }

    #[cfg(test)]
    pub(super) fn is_speaking(&self) -> bool {
        self.speaking.is_some()
    }

    /// What was being said when the line went dead.
    pub(super) fn cut_off(&mut self) -> Option<LogEvent> {
        self.speaking.take().map(Speaking::into_log)
    }

    /// The next 20 ms.
    pub(super) fn frame(&mut self, now_ms: u64) -> Output {
        let Some(speaking) = &mut self.speaking else {
            return Output::Silence;
        };
        let samples = match &mut speaking.source {
            Source::Words { speaker, .. } => speaker.next_chunk(FRAME),
            Source::Beep { frame } => beep(frame),
        };
        match samples {
            Some(mut samples) => {
                samples.resize(FRAME, 0);
                if loud(&samples) {
                    speaking.from_ms.get_or_insert(now_ms);
                    speaking.to_ms = now_ms + 20;
                }
                Output::Sound(samples)
            }
            None => self.cut_off().map_or(Output::Silence, Output::Finished),
        }
    }
}

fn beep(frame: &mut u32) -> Option<Vec<i16>> {
    if *frame == BEEP_FRAMES {
        return None;
    }
    let first = *frame * FRAME as u32;
    *frame += 1;
    let wave = |n: u32| (std::f64::consts::TAU * BEEP_HZ * f64::from(first + n) / f64::from(RATE)).sin();
    Some(
        (0..FRAME as u32)
            .map(|n| (wave(n) * BEEP_LEVEL * 32_767.0) as i16)
            .collect(),
    )
}

/// The sound of a line on which nobody speaks, made once and shared by all phones: silence, or a second of noise.
pub(in crate::exchange) struct Background {
    payloads: Vec<String>,
    noise: Vec<i16>,
}

impl Background {
    /// Silence, or white noise of this level (root mean square, relative to full scale).
    pub(in crate::exchange) fn new(noise_dbfs: Option<f64>) -> Self {
        let noise = noise_dbfs.map(white_noise).unwrap_or_default();
        let encoded = |samples: &[i16]| {
            let mut bytes = Vec::with_capacity(samples.len());
            codec::encode(Encoding::MuLaw, samples, &mut bytes);
            wire::payload(&bytes)
        };
        let payloads = if noise.is_empty() {
            vec![encoded(&[0; FRAME])]
        } else {
            noise.chunks(FRAME).map(encoded).collect()
        };
        Self { payloads, noise }
    }

    /// The payload of a frame without a voice.
    pub(in crate::exchange) fn payload(&self, frame: usize) -> &str {
        &self.payloads[frame % self.payloads.len()]
    }

    /// The payload of a frame with a voice (mu-law).
    pub(in crate::exchange) fn beneath(&self, voice: &[u8], frame: usize) -> String {
        if self.noise.is_empty() {
            return wire::payload(voice);
        }
        let mut samples = Vec::with_capacity(voice.len());
        codec::decode(Encoding::MuLaw, voice, &mut samples);
        let noise = self.noise.iter().cycle().skip(frame * FRAME % self.noise.len());
        for (sample, noise) in samples.iter_mut().zip(noise) {
            *sample = sample.saturating_add(*noise);
        }
        let mut mixed = Vec::with_capacity(samples.len());
        codec::encode(Encoding::MuLaw, &samples, &mut mixed);
        wire::payload(&mixed)
    }
}

/// A second of it, always the same.
fn white_noise(dbfs: f64) -> Vec<i16> {
    // Uniform noise between -a and a has the root mean square a / sqrt(3).
    let amplitude = 32_767.0 * 10_f64.powf(dbfs.min(0.0) / 20.0) * 3_f64.sqrt();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..RATE)
        .map(|_| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            ((share * 2.0 - 1.0) * amplitude) as i16
        })
        .collect()
}
