//! Both sides of a session on one time axis: for its recording, and for listeners.

use super::{AudioSession, RECORDING_SECONDS, SessionConfig, clock};
use crate::{
    codec,
    format::{Encoding, LineFormat},
    recording::StereoMixer,
};

/// Milliseconds of audio that a listener gets at once.
const TAPPED_MS: u64 = 20;

/// The mixers that are in use.
pub(super) struct Tracks {
    recording: Option<StereoMixer>,
    tap: Option<StereoMixer>,
}

impl Tracks {
    pub(super) fn of(config: &SessionConfig) -> Self {
        let recording = config.record.then(|| StereoMixer::new(capacity(config.format)));
        Self { recording, tap: None }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut StereoMixer> {
        self.recording.iter_mut().chain(&mut self.tap)
    }

    /// Puts the user's samples at their position. Missing samples before them become silence.
    pub(super) fn user(&mut self, position: u64, pcm: &[i16]) {
        self.all().for_each(|mixer| push_user(mixer, position, pcm));
    }

    /// Places the agent's audio at `from` or, if that was taken already, at the first place that is left. Returns it.
    pub(super) fn agent(&mut self, from: u64, audio: &[u8], encoding: Encoding) -> u64 {
        let from = from.max(self.recording.as_ref().map_or(0, StereoMixer::taken));
        if self.recording.is_some() || self.tap.is_some() {
            let mut pcm = Vec::with_capacity(audio.len());
            codec::decode(encoding, audio, &mut pcm);
            self.all().for_each(|mixer| mixer.push_agent_at(from, &pcm));
        }
        from
    }

    /// Removes the agent's audio from `end` on.
    pub(super) fn truncate_agent(&mut self, end: u64) {
        self.all().for_each(|mixer| mixer.truncate_agent(end));
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

impl AudioSession {
    /// Stops recording. Returns the rest of the recording.
    pub fn stop_recording(&mut self) -> Vec<i16> {
        let left = self.take_recording(true);
        self.tracks.recording = None;
        left
    }

    /// Returns the recorded audio that will not change, interleaved (user, agent), if it is a second or more,
    /// or everything if `all`. The result is empty if the call is not recorded.
    pub fn take_recording(&mut self, all: bool) -> Vec<i16> {
        let settled = self.settled_position();
        let rate = self.hearing.sample_rate();
        let Some(mixer) = &mut self.tracks.recording else {
            return Vec::new();
        };
        let up_to = mixer.user_position().max(settled);
        match all || up_to >= mixer.taken() + u64::from(rate) {
            true => mixer.take(up_to),
            false => Vec::new(),
        }
    }

    /// Begins to keep both sides for listeners, from now on. Does nothing if it has begun. Of the agent's audio that was
    /// sent ahead before, they get only what a recording still has.
    pub fn start_tap(&mut self) {
        if self.tracks.tap.is_none() {
            let position = self.hearing.position(self.now_ms);
            let mut tap = StereoMixer::starting_at(capacity(self.hearing.format()), position);
            if let Some(recording) = &self.tracks.recording {
                tap.push_agent_at(position, &recording.agent_from(position));
            }
            self.tracks.tap = Some(tap);
        }
    }

    /// Ends what [`Self::start_tap`] began.
    pub fn stop_tap(&mut self) {
        self.tracks.tap = None;
    }

    /// Returns the next 20 ms for listeners, interleaved (user, agent), once they are complete.
    pub fn take_tap(&mut self) -> Option<Vec<i16>> {
        let settled = self.settled_position();
        let length = TAPPED_MS * u64::from(self.hearing.sample_rate()) / 1_000;
        let tap = self.tracks.tap.as_mut()?;
        let end = tap.taken() + length;
        (tap.user_position().max(settled) >= end).then(|| tap.take(end))
    }

    /// Returns the position up to which missing audio of the user counts as silence. After it, audio may still come late.
    fn settled_position(&self) -> u64 {
        let late = clock::STALL_MS * u64::from(self.hearing.sample_rate()) / 1_000;
        self.hearing.position(self.now_ms).saturating_sub(late)
    }

    pub(super) fn truncate_recording(&mut self) {
        let end = self.speaking.recorded_end();
        self.tracks.truncate_agent(end);
    }
}
