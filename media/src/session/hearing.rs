//! The receiving side of a session: decodes the line, keeps its time, detects voice, and prepares the
//! recogniser's samples.

use std::collections::VecDeque;

use super::{
    clock::{STALL_MS, StreamClock},
    messages::{SessionConfig, SessionError},
    tracks::Tracks,
};
use crate::{
    amd::Tone,
    codec,
    format::LineFormat,
    resample::{ResampleError, Resampler},
    tone::{Beep, BeepDetector},
    vad::{BLOCK_MS, Vad},
};

/// Milliseconds of silence passed to the detectors for a gap: enough to close the gate of the voice detector.
const GAP_SHOWN_MS: u64 = 320;

/// Most seconds of samples that may wait for the recogniser.
const UNTAKEN_SECONDS: usize = 2;

/// Verdict on 16 ms of the line, in the session's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeardBlock {
    pub(super) at_ms: u64,
    pub(super) onset_ms: Option<u64>,
    /// Start of the present sound, voice or not.
    pub(super) sound_ms: Option<u64>,
    /// Length of the block if it is voiced, otherwise 0.
    pub(super) voiced_ms: u64,
    /// End of the voiced part, or the block's end if it is not voiced.
    pub(super) voiced_until_ms: u64,
    /// Level above 200 Hz, in dBFS.
    pub(super) level_db: f32,
}

pub(super) struct Hearing {
    format: LineFormat,
    samples_per_ms: u64,
    clock: StreamClock,
    vad: Vad,
    blocks: VecDeque<HeardBlock>,
    /// Session time of the detectors' first sample, moved forward by gaps.
    vad_base_ms: u64,
    started: bool,
    beep: BeepDetector,
    beeps: Vec<Beep>,
    resampler: Resampler,
    pcm: Vec<i16>,
    for_recogniser: Vec<i16>,
    most_untaken: usize,
    samples: u64,
    /// Received samples that do not make a millisecond yet.
    odd_samples: u64,
}

impl Hearing {
    pub(super) fn new(config: &SessionConfig) -> Result<Self, SessionError> {
        let line_rate = config.format.sample_rate;
        if line_rate != 8_000 && line_rate != 16_000 {
            return Err(SessionError::Line(line_rate));
        }
        Ok(Self {
            format: config.format,
            samples_per_ms: u64::from(line_rate / 1_000),
            clock: StreamClock::default(),
            vad: Vad::new(line_rate),
            blocks: VecDeque::new(),
            vad_base_ms: 0,
            started: false,
            beep: BeepDetector::for_rate(line_rate),
            beeps: Vec::new(),
            resampler: Resampler::live(line_rate, config.recogniser_rate)?,
            pcm: Vec::new(),
            for_recogniser: Vec::new(),
            most_untaken: UNTAKEN_SECONDS * config.recogniser_rate as usize,
            samples: 0,
            odd_samples: 0,
        })
    }

    pub(super) fn receive(&mut self, audio: &[u8], now_ms: u64, tracks: &mut Tracks) {
        let mut pcm = std::mem::take(&mut self.pcm);
        pcm.clear();
        codec::decode(self.format.encoding, audio, &mut pcm);
        let waiting = self.odd_samples + pcm.len() as u64;
        let length_ms = waiting / self.samples_per_ms;
        self.odd_samples = waiting % self.samples_per_ms;
        let gap_ms = self.clock.receive(length_ms, now_ms);
        if !self.started {
            self.started = true;
            self.vad_base_ms = self.clock.heard_ms().saturating_sub(length_ms);
            self.samples = self.vad_base_ms * self.samples_per_ms;
        }
        if gap_ms > 0 {
            self.show_gap(gap_ms);
        }
        self.show(&pcm);
        self.resample(&pcm);
        self.beep.push(&pcm, &mut self.beeps);
        tracks.user(self.samples, &pcm);
        self.samples += pcm.len() as u64;
        self.pcm = pcm;
    }

    /// Returns the verdict on the next block that the audio filled.
    pub(super) fn poll_block(&mut self) -> Option<HeardBlock> {
        self.blocks.pop_front()
    }

    /// Returns the next single tone that has ended.
    pub(super) fn poll_tone(&mut self) -> Option<Tone> {
        if self.beeps.is_empty() {
            return None;
        }
        let beep = self.beeps.remove(0);
        let stream_ms = |sample: u64| self.vad_base_ms + sample / self.samples_per_ms;
        Some(Tone {
            frequency_hz: beep.frequency_hz,
            start_ms: stream_ms(beep.start_sample),
            end_ms: stream_ms(beep.end_sample),
            alone: beep.alone,
        })
    }

    pub(super) fn heard_ms(&self) -> u64 {
        self.clock.heard_ms()
    }

    pub(super) fn now(&self, now_ms: u64) -> u64 {
        self.clock.now(now_ms)
    }

    pub(super) fn is_stalled(&self, now_ms: u64) -> bool {
        self.clock.is_stalled(now_ms)
    }

    /// Returns when the stream's time reaches `at_ms` if no more audio comes.
    pub(super) fn clock_time(&self, at_ms: u64) -> u64 {
        self.clock.clock_time(at_ms)
    }

    /// Returns the stream's time in samples, including gaps.
    pub(super) fn position(&self, now_ms: u64) -> u64 {
        let stall_ms = self.clock.now(now_ms).saturating_sub(self.clock.heard_ms());
        self.samples + stall_ms * self.samples_per_ms
    }

    /// Returns the position up to which missing audio counts as silence. After it, audio may still come late.
    pub(super) fn settled_position(&self, now_ms: u64) -> u64 {
        self.position(now_ms).saturating_sub(STALL_MS * self.samples_per_ms)
    }

    /// Converts the samples for the recogniser to another rate from here on.
    pub(super) fn recogniser_replaced(&mut self, rate: u32) -> Result<(), ResampleError> {
        self.resampler = Resampler::live(self.format.sample_rate, rate)?;
        self.most_untaken = UNTAKEN_SECONDS * rate as usize;
        Ok(())
    }

    pub(super) fn recogniser_samples(&mut self) -> &mut Vec<i16> {
        &mut self.for_recogniser
    }

    fn show(&mut self, pcm: &[i16]) {
        let (base_ms, samples_per_ms) = (self.vad_base_ms, self.samples_per_ms);
        self.vad.process(pcm, |block| {
            self.blocks.push_back(HeardBlock {
                at_ms: base_ms + block.end / samples_per_ms,
                onset_ms: block.onset.map(|onset| base_ms + onset / samples_per_ms),
                sound_ms: block.sound.map(|sound| base_ms + sound / samples_per_ms),
                voiced_ms: block.voiced_until.map_or(0, |_| u64::from(BLOCK_MS)),
                voiced_until_ms: base_ms + block.voiced_until.unwrap_or(block.end) / samples_per_ms,
                level_db: block.level_db,
            });
        });
    }

    fn show_gap(&mut self, gap_ms: u64) {
        let shown_ms = gap_ms.min(GAP_SHOWN_MS);
        let silence = [0i16; 160];
        let mut left = (shown_ms * self.samples_per_ms) as usize;
        while left > 0 {
            let piece = left.min(silence.len());
            self.show(&silence[..piece]);
            self.beep.push(&silence[..piece], &mut self.beeps);
            left -= piece;
        }
        self.vad_base_ms += gap_ms - shown_ms;
        self.samples += gap_ms * self.samples_per_ms;
    }

    fn resample(&mut self, pcm: &[i16]) {
        self.resampler.process(pcm, &mut self.for_recogniser);
        // Nobody takes them, since the recogniser is gone.
        if self.for_recogniser.len() > self.most_untaken {
            self.for_recogniser.clear();
        }
    }
}
