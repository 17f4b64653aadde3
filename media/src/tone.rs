//! Tones on a line: finds the beep of an answering machine on lines of 8 and 16 kHz.

pub mod generate;
pub mod keys;
#[cfg(test)]
mod tests;

use std::f32::consts::TAU;

use crate::resample::HalfBandDown;

/// Samples per second. A line of 16 kHz is converted to it.
const RATE_HZ: f32 = 8_000.0;
/// Samples judged together: 10 ms.
const FRAME: usize = 80;
/// Fewest whole frames of a beep: those that fit into 100 ms, wherever it starts.
const FEWEST_FRAMES: u64 = 9;
/// Most frames of a beep: 1.5 s, plus its edges. A longer tone is a fax's answer or a fault.
const MOST_FRAMES: u64 = 155;
/// Frames after a tone in which another may begin: 60 ms. Tones so close together belong to a melody or an
/// announcement.
const ALONE_FRAMES: u64 = 6;
/// Pitch of a beep in Hz: 350 to 2100, widened by the shift that noise may cause.
const PITCH_HZ: std::ops::RangeInclusive<f32> = 325.0..=2_125.0;
/// The single tone of ringing and busy in most of the world, in Hz, which is never a beep.
const CALL_PROGRESS_HZ: std::ops::RangeInclusive<f32> = 415.0..=435.0;
/// Least share of the energy at one frequency.
const PURITY: f32 = 0.9;
/// Largest movement of a beep's pitch, as a share of itself.
const PITCH_DRIFT: f32 = 0.03;
/// Movement of a beep's pitch in Hz that is always allowed, since noise moves a low pitch more.
const PITCH_DRIFT_HZ: f32 = 20.0;
/// Largest factor (3 dB in power) by which a beep's level changes from one frame to the next.
const LEVEL_DRIFT: f32 = 2.0;
/// Mean square below which there is silence: RMS 150, or -47 dBFS.
const FLOOR: f32 = 150.0 * 150.0;

/// A beep that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beep {
    /// Frequency in Hz.
    pub frequency_hz: f32,
    /// First sample, counted from the start of the stream, to within 10 ms.
    pub start_sample: u64,
    /// One past the last sample, to within 10 ms.
    pub end_sample: u64,
    /// Whether no other tone sounded within 60 ms before or after it.
    pub alone: bool,
}

/// A frame with one tone and almost nothing else.
#[derive(Debug, Clone, Copy)]
struct Pure {
    hz: f32,
    level: f32,
}

/// A tone that lasts.
#[derive(Debug, Clone, Copy)]
struct Running {
    hz: f32,
    level: f32,
    /// First frame.
    start: u64,
    frames: u64,
    /// Whether the last frame did not belong to it. One such frame counts as a fault of the line.
    missed: bool,
}

impl Running {
    fn new(pure: Pure, start: u64) -> Self {
        Self {
            hz: pure.hz,
            level: pure.level,
            start,
            frames: 1,
            missed: false,
        }
    }

    fn is_continued_by(&self, pure: Pure) -> bool {
        let level = pure.level / self.level;
        (pure.hz - self.hz).abs() <= (PITCH_DRIFT * self.hz).max(PITCH_DRIFT_HZ)
            && (1.0 / LEVEL_DRIFT..=LEVEL_DRIFT).contains(&level)
    }

    fn is_tone(&self) -> bool {
        (FEWEST_FRAMES..=MOST_FRAMES).contains(&self.frames)
    }
}

/// A tone that has ended and may turn out to be the first of several.
#[derive(Debug, Clone, Copy)]
struct Ended {
    hz: f32,
    start: u64,
    end: u64,
    alone: bool,
}

/// Finds single steady tones of 100 to 1500 ms, and reports each within 100 ms of its end. The three tones
/// before a carrier's announcement are such tones, but not alone.
#[derive(Default)]
pub struct BeepDetector {
    /// Converter for a line of 16 kHz.
    down: Option<HalfBandDown>,
    halved: Vec<i16>,
    frame: Vec<f32>,
    /// Number of frames judged so far.
    position: u64,
    running: Option<Running>,
    ended: Option<Ended>,
    /// End of the last frame that belonged to a tone.
    last_tone: Option<u64>,
}

impl BeepDetector {
    /// Creates a detector for a line of 8 kHz that has heard nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a detector for a line of `sample_rate` Hz: 16000, otherwise 8000 is assumed.
    pub fn for_rate(sample_rate: u32) -> Self {
        Self {
            down: (sample_rate == 16_000).then(HalfBandDown::new),
            ..Self::default()
        }
    }

    /// Listens to samples of the line, in pieces of any length, and appends every beep that has ended.
    pub fn push(&mut self, samples: &[i16], beeps: &mut Vec<Beep>) {
        let Some(down) = &mut self.down else {
            self.listen(samples, beeps);
            return;
        };
        let mut halved = std::mem::take(&mut self.halved);
        halved.clear();
        down.process(samples, &mut halved);
        self.listen(&halved, beeps);
        self.halved = halved;
    }

    /// Returns whether a tone that is long enough for a beep sounds now.
    pub fn is_sounding(&self) -> bool {
        self.running.is_some_and(|running| running.is_tone())
    }

    fn listen(&mut self, samples: &[i16], beeps: &mut Vec<Beep>) {
        for &sample in samples {
            self.frame.push(f32::from(sample));
            if self.frame.len() == FRAME {
                let pure = pure_tone(&self.frame);
                self.next(pure);
                beeps.extend(self.tell());
                self.frame.clear();
                self.position += 1;
            }
        }
    }

    fn next(&mut self, pure: Option<Pure>) {
        if let (Some(running), Some(pure)) = (&mut self.running, pure)
            && running.is_continued_by(pure)
        {
            running.frames += 1 + u64::from(running.missed);
            running.missed = false;
            running.level = pure.level;
            running.hz += (pure.hz - running.hz) / running.frames as f32;
            return;
        }
        match &mut self.running {
            Some(running) if running.frames > 1 && !running.missed => running.missed = true,
            _ => {
                self.end_tone();
                self.running = pure.map(|pure| Running::new(pure, self.position));
            }
        }
    }

    fn end_tone(&mut self) {
        let Some(tone) = self.running.take().filter(Running::is_tone) else {
            return;
        };
        let end = tone.start + tone.frames;
        let follows = self
            .last_tone
            .replace(end)
            .is_some_and(|last| tone.start <= last + ALONE_FRAMES);
        if !CALL_PROGRESS_HZ.contains(&tone.hz) {
            self.ended = Some(Ended {
                hz: tone.hz,
                start: tone.start,
                end,
                alone: !follows,
            });
        }
    }

    /// Returns the tone that has ended, once it is known what follows it.
    fn tell(&mut self) -> Option<Beep> {
        let next = self.running.filter(|next| next.frames >= FEWEST_FRAMES / 3);
        let ended = self.ended?;
        let followed = next.is_some_and(|next| next.start <= ended.end + ALONE_FRAMES);
        if !followed && self.position < ended.end + ALONE_FRAMES {
            return None;
        }
        self.ended = None;
        let line = if self.down.is_some() { 2 } else { 1 } * FRAME as u64;
        Some(Beep {
            frequency_hz: ended.hz,
            start_sample: ended.start * line,
            end_sample: ended.end * line,
            alone: ended.alone && !followed,
        })
    }
}

fn pure_tone(frame: &[f32]) -> Option<Pure> {
    let energy: f32 = frame.iter().map(|sample| sample * sample).sum();
    if energy < FLOOR * frame.len() as f32 {
        return None;
    }
    let guess = rough_pitch(frame)?;
    // The tone's phase moves between the two halves of the frame according to the error of the guess.
    let (early, late) = frame.split_at(frame.len() / 2);
    let moved = (goertzel(late, guess).angle() - goertzel(early, guess).angle()) / TAU;
    let expected = guess * early.len() as f32 / RATE_HZ;
    let off = moved - expected;
    let step = RATE_HZ / early.len() as f32;
    let hz = guess + (off - off.round()) * step;
    // Noise raises the guess for a low pitch by more than the phase can show.
    [hz, hz - step].into_iter().find_map(|hz| {
        let purity = || 2.0 * goertzel(frame, hz).power() / (frame.len() as f32 * energy);
        (PITCH_HZ.contains(&hz) && purity() >= PURITY).then(|| Pure {
            hz,
            level: energy / frame.len() as f32,
        })
    })
}

/// Returns the pitch of the sine that fits best: for a sine, x[n] + x[n-2] = 2 cos(w) x[n-1].
fn rough_pitch(frame: &[f32]) -> Option<f32> {
    let (mut cross, mut square) = (0.0, 0.0);
    for three in frame.windows(3) {
        cross += three[1] * (three[0] + three[2]);
        square += three[1] * three[1];
    }
    let cosine = cross / (2.0 * square);
    (-1.0..=1.0).contains(&cosine).then(|| cosine.acos() / TAU * RATE_HZ)
}

/// One frequency of a frame, relative to the frame's first sample.
struct Phasor {
    re: f32,
    im: f32,
}

impl Phasor {
    fn angle(&self) -> f32 {
        self.im.atan2(self.re)
    }

    fn power(&self) -> f32 {
        self.re * self.re + self.im * self.im
    }
}

/// Applies Goertzel's algorithm for any frequency, from the back so that the phase refers to the first sample.
fn goertzel(samples: &[f32], hz: f32) -> Phasor {
    let (sine, cosine) = (TAU * hz / RATE_HZ).sin_cos();
    let (mut newer, mut older) = (0.0, 0.0);
    for &sample in samples.iter().rev() {
        (newer, older) = (sample + 2.0 * cosine * newer - older, newer);
    }
    // The recurrence over reversed samples sums x[n] e^(jwn).
    Phasor {
        re: newer - older * cosine,
        im: -older * sine,
    }
}
