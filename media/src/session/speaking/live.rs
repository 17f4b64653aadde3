//! An operator's live audio: plays in place of a speech as it arrives.
//!
//! Its pace follows the clock and not the line's marks: marks come back late, and waiting for them would break
//! up audio of which only a little is ever ahead. Each seam is faded, so that none is heard as a click.

use std::collections::VecDeque;

/// Duration in milliseconds of a message to the line.
pub(super) const FRAME_MS: u64 = 20;

/// Audio in milliseconds that is collected before it plays, at first and after each gap, since frames do not
/// arrive evenly.
const CUSHION_MS: u64 = 80;

/// Most audio in milliseconds sent ahead.
const AHEAD_MS: u64 = 100;

/// Audio in milliseconds left on the line at which more must come now, or there is a gap.
const DRY_MS: u64 = 10;

/// Most audio in milliseconds that waits, on the line or for it.
const MOST_WAITING_MS: u64 = 400;

/// Duration in milliseconds of the fade at the beginning, at the end, and where audio was dropped.
const SEAM_MS: u64 = 5;

/// Audio that has arrived and was not sent.
pub(super) struct Live {
    waiting: VecDeque<i16>,
    /// Whether tones of keys wait. Until they were sent, nothing else is taken.
    pressing: bool,
    samples_per_ms: usize,
    /// Most milliseconds sent ahead.
    ahead_ms: u64,
    /// Whether the last message and the next one have no gap between them.
    flows: bool,
    /// Whether nothing more arrives.
    ended: bool,
    /// Time until which the audio sent so far plays.
    until_ms: u64,
}

impl Live {
    pub(super) fn new(samples_per_ms: u64, ahead_ms: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            pressing: false,
            samples_per_ms: samples_per_ms as usize,
            ahead_ms: ahead_ms.min(AHEAD_MS),
            flows: false,
            ended: false,
            until_ms: 0,
        }
    }

    /// Returns whether everything was sent and nothing more arrives.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }

    /// Takes audio, and drops the oldest that is too much. Returns the number of samples dropped.
    pub(super) fn push(&mut self, samples: &[i16], now_ms: u64) -> usize {
        if self.ended {
            return 0;
        }
        if self.pressing {
            return samples.len();
        }
        self.waiting.extend(samples);
        let most = self.samples(MOST_WAITING_MS.saturating_sub(self.until_ms.saturating_sub(now_ms)));
        let dropped = self.waiting.len().saturating_sub(most);
        let seam = match dropped {
            0 => 0,
            _ => self.samples(SEAM_MS).min(self.waiting.len() - dropped),
        };
        for at in 0..seam {
            let (before, after) = (self.waiting[at], self.waiting[dropped + at]);
            self.waiting[dropped + at] = faded(before, seam - at, seam) + faded(after, at, seam);
        }
        self.waiting.drain(..dropped);
        dropped
    }

    /// Takes the tones of keys, which follow what waits.
    pub(super) fn press(&mut self, tones: &[i16]) {
        self.waiting.extend(tones);
        self.pressing = true;
    }

    /// Returns the next message for the line, if it is time.
    pub(super) fn next(&mut self, now_ms: u64) -> Option<Vec<i16>> {
        let ahead_ms = self.until_ms.saturating_sub(now_ms);
        if self.waiting.is_empty() || ahead_ms + FRAME_MS > self.ahead_ms {
            return None;
        }
        let least = self.least();
        let is_last = self.waiting.len() < least;
        if is_last && !self.ended && !(self.flows && ahead_ms <= DRY_MS) {
            return None;
        }
        let frame = self.samples(FRAME_MS).min(self.waiting.len());
        let mut message: Vec<i16> = self.waiting.drain(..frame).collect();
        let seam = self.samples(SEAM_MS).min(frame);
        if !self.flows {
            for (at, sample) in message.iter_mut().take(seam).enumerate() {
                *sample = faded(*sample, at, seam);
            }
        }
        self.flows = true;
        if is_last && self.waiting.len() < self.least() - frame {
            // The rest is shorter than a fade.
            self.waiting.clear();
            fade_end(&mut message, seam);
            self.flows = false;
        }
        self.pressing &= !self.waiting.is_empty();
        self.until_ms = self.until_ms.max(now_ms) + FRAME_MS;
        Some(message)
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn take_rest(&mut self) -> Vec<i16> {
        std::mem::take(&mut self.waiting).into()
    }

    /// Returns when the next message is due, as far as it does not wait for audio.
    pub(super) fn deadline(&self) -> Option<u64> {
        let waits = !self.waiting.is_empty();
        match self.ended || self.waiting.len() >= self.least() {
            true if waits => Some((self.until_ms + FRAME_MS).saturating_sub(self.ahead_ms)),
            false if waits && self.flows => Some(self.until_ms.saturating_sub(DRY_MS)),
            _ => None,
        }
    }

    /// Returns the number of samples that must wait for a message to go out while more are expected: itself,
    /// and enough to fade after it should no more come.
    fn least(&self) -> usize {
        match self.flows {
            true => self.samples(FRAME_MS + SEAM_MS),
            false => self.samples(CUSHION_MS),
        }
    }

    fn samples(&self, ms: u64) -> usize {
        ms as usize * self.samples_per_ms
    }
}

/// Returns a sample at `part` of `whole` of its level.
fn faded(sample: i16, part: usize, whole: usize) -> i16 {
    (i64::from(sample) * part as i64 / whole.max(1) as i64) as i16
}

/// Lets the last `seam` samples fall silent.
pub(super) fn fade_end(samples: &mut [i16], seam: usize) {
    for (left, sample) in samples.iter_mut().rev().take(seam).enumerate() {
        *sample = faded(*sample, left, seam);
    }
}
