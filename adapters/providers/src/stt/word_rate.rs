//! Limits on the rate of words. A recogniser that sends words without end is disconnected.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;

/// Maximum bytes of one turn. A turn has a few hundred words.
pub(crate) const MOST_WORDS_BYTES: usize = 16 * 1024;

/// Maximum messages per second. Interims come a few times a second; after a reconnect a few seconds' worth
/// may come at once.
const WINDOW: Duration = Duration::from_secs(1);
const MOST_IN_WINDOW: u32 = 200;

/// Maximum bytes per second. An interim repeats its turn from the start: after minutes it has some thousand
/// bytes, a few times a second.
const MOST_BYTES_IN_WINDOW: usize = 256 * 1024;

/// Bytes of final words per second of the call's audio: three times what the fastest speaker says, in a
/// script with three bytes per letter.
const FINAL_BYTES_A_SECOND: u64 = 256;

/// Checks that one utterance may have this many bytes of words.
pub(crate) fn may_be_words(bytes: usize) -> Result<(), Failure> {
    match bytes <= MOST_WORDS_BYTES {
        true => Ok(()),
        false => Err(Failure::Protocol("too many words in one utterance".into())),
    }
}

/// Checks that a person may have said this many bytes in this many seconds.
pub(crate) fn may_be_said(bytes: u64, seconds: u64) -> Result<(), Failure> {
    match bytes <= MOST_WORDS_BYTES as u64 + seconds.saturating_mul(FINAL_BYTES_A_SECOND) {
        true => Ok(()),
        false => Err(Failure::Protocol("too many words for the length of the call".into())),
    }
}

/// Rate of messages on one connection.
pub(super) struct Flow {
    since: Instant,
    messages: u32,
    bytes: usize,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            messages: 0,
            bytes: 0,
        }
    }

    /// Counts a message with this many bytes of words.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        may_be_words(bytes)?;
        if self.since.elapsed() >= WINDOW {
            *self = Self::new();
        }
        self.messages += 1;
        self.bytes += bytes;
        match self.messages <= MOST_IN_WINDOW && self.bytes <= MOST_BYTES_IN_WINDOW {
            true => Ok(()),
            false => Err(Failure::Protocol("too many words per second".into())),
        }
    }
}
