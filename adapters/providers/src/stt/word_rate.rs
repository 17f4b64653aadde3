//! How fast words may come: a recogniser that sends them without end is cut off, as nobody could take them.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;

/// A turn has a few hundred words; what is longer is none.
pub(crate) const MOST_WORDS_BYTES: usize = 16 * 1024;

/// Interims come some times a second; after a reconnect a few seconds' worth may come at once.
const WINDOW: Duration = Duration::from_secs(1);
const MOST_IN_WINDOW: u32 = 200;

/// An interim repeats its turn from the begin: after minutes it has some thousand bytes, some times a second.
const MOST_BYTES_IN_WINDOW: usize = 256 * 1024;

/// Bytes of final words for each second of the call's audio: thrice what the fastest speaker says, in a script that takes
/// three bytes a letter.
const FINAL_BYTES_A_SECOND: u64 = 256;

/// Whether these are words that one utterance may have.
pub(crate) fn may_be_words(bytes: usize) -> Result<(), Failure> {
    match bytes <= MOST_WORDS_BYTES {
        true => Ok(()),
        false => Err(Failure::Protocol("more words at once than anybody can say".into())),
    }
}

/// Whether somebody may have said so many bytes in so many seconds.
pub(crate) fn may_be_said(bytes: u64, seconds: u64) -> Result<(), Failure> {
    match bytes <= MOST_WORDS_BYTES as u64 + seconds.saturating_mul(FINAL_BYTES_A_SECOND) {
        true => Ok(()),
        false => Err(Failure::Protocol("more words in all than anybody can have said".into())),
    }
}

/// What comes on one connection.
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

    /// Takes a message with so many bytes of words.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        may_be_words(bytes)?;
        if self.since.elapsed() >= WINDOW {
            *self = Self::new();
        }
        self.messages += 1;
        self.bytes += bytes;
        match self.messages <= MOST_IN_WINDOW && self.bytes <= MOST_BYTES_IN_WINDOW {
            true => Ok(()),
            false => Err(Failure::Protocol("words come faster than anybody can speak".into())),
        }
    }
}
