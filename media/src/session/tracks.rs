//! Both sides of a session on one time axis: for its recording, and for listeners.

use super::messages::SessionConfig;
use crate::{codec, format::LineFormat, recording::StereoMixer};

/// Seconds of recorded audio that may wait to be taken.
const RECORDING_SECONDS: usize = 10;

/// Milliseconds of audio that a listener gets at once.
const TAPPED_MS: u64 = 20;

/// The mixers that are in use.
pub(super) struct Tracks {
    format: LineFormat,
    recording: Option<StereoMixer>,
    tap: Option<StereoMixer>,
    /// End of the agent's last sample, without cleared audio.
    agent_end: u64,
}

impl Tracks {
    pub(super) fn of(config: &SessionConfig) -> Self {
        let recording = config.record.then(|| StereoMixer::new(capacity(config.format)));
        Self {
            format: config.format,
            recording,
            tap: None,
            agent_end: 0,
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut StereoMixer> {
        self.recording.iter_mut().chain(&mut self.tap)
    }

    /// Puts the user's samples at their position. Missing samples before them become silence.
    pub(super) fn user(&mut self, position: u64, pcm: &[i16]) {
        self.all().for_each(|mixer| push_user(mixer, position, pcm));
    }

    /// Places the agent's audio after its last, at `earliest` or, if that was taken already, at the first position
    /// that is left.
    pub(super) fn agent(&mut self, earliest: u64, audio: &[u8]) {
        let encoding = self.format.encoding;
        let taken = self.recording.as_ref().map_or(0, StereoMixer::taken);
        let from = self.agent_end.max(earliest).max(taken);
        if self.recording.is_some() || self.tap.is_some() {
            let mut pcm = Vec::with_capacity(audio.len());
            codec::decode(encoding, audio, &mut pcm);
            self.all().for_each(|mixer| mixer.push_agent_at(from, &pcm));
        }
        self.agent_end = from + (audio.len() / encoding.bytes_per_sample()) as u64;
    }

    /// Removes the last samples of the agent, which the line has cleared.
    pub(super) fn clear_agent(&mut self, samples: u64) {
        let end = self.agent_end.saturating_sub(samples);
        self.agent_end = end;
        self.all().for_each(|mixer| mixer.truncate_agent(end));
    }

    /// Stops recording. Returns the rest of the recording; audio of the user missing before `settled` is silence.
    pub(super) fn stop_recording(&mut self, settled: u64) -> Vec<i16> {
        let left = self.take_recording(true, settled);
        self.recording = None;
        left
    }

    /// Returns the recorded audio that will not change, if it is a second or more, or everything if `all`.
    pub(super) fn take_recording(&mut self, all: bool, settled: u64) -> Vec<i16> {
        let Some(mixer) = &mut self.recording else {
            return Vec::new();
        };
        let up_to = mixer.user_position().max(settled);
        match all || up_to >= mixer.taken() + u64::from(self.format.sample_rate) {
            true => mixer.take(up_to),
            false => Vec::new(),
        }
    }

    /// Begins to keep both sides for listeners, from `position` on.
    pub(super) fn start_tap(&mut self, position: u64) {
        if self.tap.is_none() {
            let mut tap = StereoMixer::starting_at(capacity(self.format), position);
            if let Some(recording) = &self.recording {
                tap.push_agent_at(position, &recording.agent_from(position));
            }
            self.tap = Some(tap);
        }
    }

    pub(super) fn stop_tap(&mut self) {
        self.tap = None;
    }

    /// Returns the next 20 ms for listeners, once they are complete.
    pub(super) fn take_tap(&mut self, settled: u64) -> Option<Vec<i16>> {
        let length = TAPPED_MS * u64::from(self.format.sample_rate) / 1_000;
        let tap = self.tap.as_mut()?;
        let end = tap.taken() + length;
        (tap.user_position().max(settled) >= end).then(|| tap.take(end))
    }
}

fn capacity(format: LineFormat) -> usize {
    format.sample_rate as usize * RECORDING_SECONDS
}

fn push_user(mixer: &mut StereoMixer, position: u64, pcm: &[i16]) {
    let silence = [0; 160];
    let mut missing = position.saturating_sub(mixer.user_position()) as usize;
    while missing > 0 {
        let piece = missing.min(silence.len());
        let before = mixer.user_position();
        mixer.push_user(&silence[..piece]);
        if mixer.user_position() == before {
            break;
        }
        missing -= piece;
    }
    mixer.push_user(pcm);
}
