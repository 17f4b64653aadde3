//! The caller's telephone line at 8 kHz in mu-law: plays what the session sends, and brings what the caller says,
//! the noise behind the caller, and the echo.

use std::{collections::VecDeque, mem};

use media::{
    babble::UnsupportedRate,
    codec,
    format::{Encoding, LineFormat},
    playout::LineAbilities,
};

use crate::{
    caller::{Caller, Echo},
    chance::Chance,
    voice::{PER_MS, is_voiced, noise::Background},
};

/// Length of a frame in milliseconds.
pub const FRAME_MS: u64 = 20;

/// Samples of a frame.
const FRAME: usize = FRAME_MS as usize * PER_MS;

/// Format of the line.
pub const FORMAT: LineFormat = LineFormat::MULAW_8000;

/// Abilities of the line: those of a carrier that buffers and can drop what it has, without marks.
pub const ABILITIES: LineAbilities = LineAbilities {
    buffers: true,
    marks: false,
    clear: true,
};

/// The line.
pub struct Line {
    /// Audio that was sent and not played.
    outgoing: VecDeque<u8>,
    /// Starts of the frames in which the agent's voice was played, in milliseconds, since they were last forgotten.
    voiced_ms: Vec<u64>,
    echo: Option<Echo>,
    /// Frames that were played and have not come back, the oldest first.
    returning: VecDeque<[i16; FRAME]>,
    background: Background,
    /// Samples of the caller that have not been heard.
    speech: VecDeque<i16>,
}

impl Line {
    /// Creates the line of a caller.
    ///
    /// # Errors
    /// Returns an error if babble, of which a noise is made, refuses the rate of 8 kHz.
    pub fn new(caller: &Caller, chance: &mut Chance) -> Result<Self, UnsupportedRate> {
        let frames = caller.echo.map_or(0, |echo| echo.delay_ms / FRAME_MS);
        Ok(Self {
            outgoing: VecDeque::new(),
            voiced_ms: Vec::new(),
            echo: caller.echo,
            returning: (0..frames).map(|_| [0; FRAME]).collect(),
            background: Background::new(caller.noise, caller.gain, chance)?,
            speech: VecDeque::new(),
        })
    }

    /// Takes audio to play.
    pub fn send(&mut self, audio: &[u8]) {
        self.outgoing.extend(audio);
    }

    /// Drops the audio that was not played.
    pub fn clear(&mut self) {
        self.outgoing.clear();
    }

    /// Lets the caller say something from the next frame on.
    pub fn say(&mut self, samples: &[i16]) {
        self.speech.extend(samples);
    }

    /// Plays the frame that starts at a time, and returns what comes back in the same time.
    pub fn frame(&mut self, from_ms: u64) -> Vec<u8> {
        let length = self.outgoing.len().min(FRAME);
        let sent: Vec<u8> = self.outgoing.drain(..length).collect();
        let mut played = Vec::with_capacity(FRAME);
        codec::decode(Encoding::MuLaw, &sent, &mut played);
        played.resize(FRAME, 0);
        if is_voiced(&played) {
            self.voiced_ms.push(from_ms);
        }
        let mut frame = [0_i16; FRAME];
        let said = self.speech.len().min(FRAME);
        for (sample, said) in frame.iter_mut().zip(self.speech.drain(..said)) {
            *sample = said;
        }
        self.background.add_to(&mut frame);
        self.add_echo(&played, &mut frame);
        let mut bytes = Vec::with_capacity(FRAME);
        codec::encode(Encoding::MuLaw, &frame, &mut bytes);
        bytes
    }

    /// Returns the starts of the frames in which the agent's voice was played, and forgets them.
    pub fn take_voiced(&mut self) -> Vec<u64> {
        mem::take(&mut self.voiced_ms)
    }

    fn add_echo(&mut self, played: &[i16], frame: &mut [i16]) {
        let Some(echo) = self.echo else {
            return;
        };
        let mut newest = [0; FRAME];
        newest.copy_from_slice(played);
        self.returning.push_back(newest);
        if let Some(oldest) = self.returning.pop_front() {
            for (sample, back) in frame.iter_mut().zip(oldest) {
                *sample = sample.saturating_add((f64::from(back) * echo.gain) as i16);
            }
        }
    }
}
