//! Encoded audio of a call that no final covers yet. It is the send queue to the provider, and is sent again
//! after a connection is lost.

use std::collections::VecDeque;

use media::{codec, format::LineFormat};

/// Length of a batch of audio.
pub(crate) const BATCH_MS: u32 = 100;

/// Audio kept while nobody speaks, because a voice is noticed late.
const PRE_ROLL_MS: u32 = 1_000;

/// Peak sample (-40 dBFS) above which a batch may contain voice.
const LOUD: i16 = 330;

/// Time without voice after the last final above which loud audio counts as noise.
const NOISE_AFTER_MS: u32 = 8_000;

/// Capacity in bytes above which unused memory is released.
const ROOM_BYTES: usize = 32 * 1024;

/// Audio buffer. Positions are bytes since the call began and never decrease.
#[derive(Debug)]
pub(crate) struct AudioBuffer {
    format: LineFormat,
    bytes: VecDeque<u8>,
    /// Position of the first byte kept.
    base: u64,
    /// Position up to which finals cover the audio.
    settled: u64,
    /// Start of possible voice in the audio that no final covers.
    loud: Option<u64>,
    /// End of the last loud batch.
    last_loud: u64,
    /// Position where a voice was noticed that no requested final covers yet.
    noticed: Option<u64>,
    most_bytes: usize,
}

impl AudioBuffer {
    /// Creates an empty buffer of audio in this format.
    pub(crate) fn new(format: LineFormat) -> Self {
        Self {
            format,
            bytes: VecDeque::new(),
            base: 0,
            settled: 0,
            loud: None,
            last_loud: 0,
            noticed: None,
            most_bytes: format.bytes_for_ms(20_000),
        }
    }

    pub(crate) fn format(&self) -> LineFormat {
        self.format
    }

    /// Sets how many milliseconds are kept at most.
    pub(crate) fn keep(&mut self, most_ms: u32) {
        self.most_bytes = self.format.bytes_for_ms(most_ms);
    }

    /// Returns the position of the next byte pushed.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns the position from which audio must be sent again.
    pub(crate) fn start(&self) -> u64 {
        self.base.max(self.settled)
    }

    /// Returns whether there may be voice that no final covers.
    pub(crate) fn may_be_voice(&self) -> bool {
        self.noticed.is_some() || self.loud.is_some()
    }

    /// Returns whether a voice was noticed that no final covers.
    pub(crate) fn is_voiced(&self) -> bool {
        self.noticed.is_some()
    }

    /// Appends encoded audio with the given loudest sample. `sent` is the position up to which audio was sent.
    pub(crate) fn push(&mut self, bytes: &[u8], peak: i16, sent: u64) {
        let is_loud = peak >= LOUD;
        if is_loud && self.loud.is_none() {
            self.loud = Some(self.end());
        }
        self.bytes.extend(bytes);
        if is_loud {
            self.last_loud = self.end();
        }
        self.trim(sent);
    }

    /// Records that a voice began a moment ago.
    pub(crate) fn voice_began(&mut self) {
        let began = self.end().saturating_sub(self.ms(PRE_ROLL_MS)).max(self.settled);
        self.noticed = Some(self.end());
        self.loud = Some(self.loud.map_or(began, |loud| loud.min(began)));
    }

    /// Records that a final covers all audio before `position`. `paused` tells whether the voice pauses there
    /// or goes on.
    pub(crate) fn settle(&mut self, position: u64, paused: bool) {
        let position = position.min(self.end());
        if paused {
            self.noticed = self.noticed.filter(|noticed| *noticed > position);
        }
        if position <= self.settled {
            return;
        }
        self.settled = position;
        self.loud = (self.last_loud > position).then_some(position);
        self.drop_before(position);
    }

    /// Returns at most `most` bytes from a position.
    pub(crate) fn read(&self, from: u64, most: usize) -> Vec<u8> {
        let skip = usize::try_from(from.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let end = self.bytes.len().min(skip.saturating_add(most));
        self.bytes.range(skip.min(end)..end).copied().collect()
    }

    /// Returns the number of bytes in this many milliseconds.
    pub(crate) fn ms(&self, ms: u32) -> u64 {
        self.format.bytes_for_ms(ms) as u64
    }

    /// Drops audio that no recogniser will need: silence, noise, and audio beyond the limit.
    fn trim(&mut self, sent: u64) {
        let end = self.end();
        let noise = self.noticed.is_none() && end > self.settled + self.ms(NOISE_AFTER_MS);
        if self.loud.is_none() && self.noticed.is_none() || noise {
            let keep = end.saturating_sub(self.ms(PRE_ROLL_MS));
            self.drop_before(keep.min(sent));
            self.loud = None;
        }
        self.drop_before(end.saturating_sub(self.most_bytes as u64));
    }

    fn drop_before(&mut self, position: u64) {
        let gone = usize::try_from(position.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let gone = gone.min(self.bytes.len());
        self.bytes.drain(..gone);
        self.base += gone as u64;
        if self.bytes.capacity() > ROOM_BYTES && self.bytes.len() < ROOM_BYTES / 4 {
            self.bytes.shrink_to(ROOM_BYTES / 2);
        }
    }
}

/// Encodes samples in the buffer's encoding.
pub(crate) fn encode(format: LineFormat, samples: &[i16], into: &mut Vec<u8>) {
    codec::encode(format.encoding, samples, into);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BATCH: [u8; 800] = [0x11; 800];

    #[test]
    fn silence_and_noise_are_forgotten_and_voice_is_kept_until_it_is_settled() {
        let mut buffer = AudioBuffer::new(LineFormat::MULAW_8000);
        for _ in 0..50 {
            buffer.push(&BATCH, 10, u64::MAX);
        }
        assert_eq!((buffer.start(), buffer.end()), (32_000, 40_000), "a second of silence");
        buffer.voice_began();
        for _ in 0..30 {
            buffer.push(&BATCH, 4_000, u64::MAX);
        }
        assert_eq!((buffer.start(), buffer.end()), (32_000, 64_000));
        buffer.settle(50_000, false);
        assert!(buffer.is_voiced(), "it goes on");
        buffer.settle(60_000, true);
        assert_eq!(buffer.start(), 60_000);
        assert!(
            buffer.may_be_voice() && !buffer.is_voiced(),
            "it went on behind the final"
        );
        for _ in 0..100 {
            buffer.push(&BATCH, 4_000, u64::MAX);
        }
        assert_eq!(buffer.end() - buffer.start(), 8_000, "loud, but nobody noticed a voice");
    }

    #[test]
    fn what_was_not_sent_stays_within_the_bound() {
        let mut buffer = AudioBuffer::new(LineFormat::MULAW_8000);
        buffer.keep(5_000);
        for _ in 0..40 {
            buffer.push(&BATCH, 10, 0);
        }
        assert_eq!(buffer.start(), 0);
        for _ in 0..20 {
            buffer.push(&BATCH, 10, 0);
        }
        assert_eq!((buffer.start(), buffer.end()), (8_000, 48_000));
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_pushed(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..300), any::<bool>(), any::<bool>()), 1..60),
        ) {
            let mut buffer = AudioBuffer::new(LineFormat::MULAW_8000);
            buffer.keep(1_000);
            let mut all = Vec::new();
            for (piece, voice, settle) in pieces {
                if voice {
                    buffer.voice_began();
                }
                buffer.push(&piece, 0, all.len() as u64);
                all.extend(piece);
                if settle {
                    buffer.settle(buffer.end() / 2, voice);
                }
                prop_assert_eq!(buffer.end(), all.len() as u64);
                prop_assert!(buffer.end() - buffer.start() <= 8_000 && buffer.start() <= buffer.end());
                let read = buffer.read(buffer.start(), usize::MAX);
                prop_assert_eq!(&read[..], &all[buffer.start() as usize..]);
            }
        }
    }
}
