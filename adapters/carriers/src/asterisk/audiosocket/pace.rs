//! Pacing of the audio sent to Asterisk, one frame every 20 ms. AudioSocket plays audio as soon as it
//! arrives, so we keep the time. Pure.

use std::collections::VecDeque;

use super::frame;

/// Bytes of a 20 ms frame at 8 kHz.
pub(super) const FRAME_BYTES: usize = 320;
/// Maximum waiting audio: one second. More waits only if the sender ignores the pace. The oldest is dropped.
const MOST_BYTES: usize = 50 * FRAME_BYTES;

/// Audio that waits to be sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    waiting: VecDeque<u8>,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds audio of any length.
    pub(super) fn take(&mut self, audio: &[u8]) {
        self.waiting.extend(audio);
        let excess = self.waiting.len().saturating_sub(MOST_BYTES);
        if excess > 0 {
            metrics::counter!("ringback_asterisk_audio_dropped_total").increment(1);
            // Drop whole samples.
            self.waiting.drain(..excess.next_multiple_of(2));
        }
    }

    /// Drops audio that was not sent yet.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Appends the frame that is due now, if any. A short frame is padded with silence.
    pub(super) fn due(&mut self, into: &mut Vec<u8>) {
        if self.waiting.is_empty() {
            return;
        }
        let length = self.waiting.len().min(FRAME_BYTES);
        let mut samples: Vec<u8> = self.waiting.drain(..length).collect();
        samples.resize(FRAME_BYTES, 0);
        frame::audio(&samples, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_at_a_time_and_the_last_filled_up() {
        let mut outgoing = Outgoing::default();
        outgoing.take(&[1; 500]);
        let mut sent = Vec::new();
        outgoing.due(&mut sent);
        assert_eq!(sent.len(), 323);
        outgoing.due(&mut sent);
        assert_eq!((sent.len(), sent[323 + 3 + 179], sent[323 + 3 + 180]), (646, 1, 0));
        assert!(outgoing.is_empty());
        outgoing.due(&mut sent);
        assert_eq!(sent.len(), 646);
    }

    #[test]
    fn what_nobody_takes_is_bounded_and_what_is_cleared_is_gone() {
        let mut outgoing = Outgoing::default();
        for n in 0..100 {
            outgoing.take(&[n; FRAME_BYTES]);
        }
        let mut sent = Vec::new();
        outgoing.due(&mut sent);
        assert_eq!(sent[3], 50);
        outgoing.clear();
        assert!(outgoing.is_empty());
    }
}
