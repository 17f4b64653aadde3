//! Limits of a media socket: audio at most slightly faster than real time, other messages at a telephone's pace.

use media::format::LineFormat;
use tokio::time::Instant;

/// Maximum lead of audio over the time since the start of the stream, in milliseconds.
const AHEAD_MS: u64 = 10_000;
/// Messages without audio that are allowed at once …
const BURST: u64 = 500;
/// … and this many per second after that. Marks return at most every 200 ms, but all at once after a clear.
const PER_SECOND: u64 = 50;
/// Messages of any kind. No carrier sends audio messages shorter than 20 ms.
const ANY_BURST: u64 = 2_000;
const ANY_PER_SECOND: u64 = 200;

/// Limit that a peer exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Excess {
    #[error("audio more than {} s ahead of real time", AHEAD_MS / 1000)]
    Ahead,
    #[error("too many messages")]
    Flood,
}

/// Counters of what a socket has sent so far.
#[derive(Debug)]
pub(crate) struct Allowance {
    since: Instant,
    bytes_per_ms: u64,
    audio_bytes: u64,
    others: u64,
    all: u64,
}

impl Allowance {
    pub(crate) fn new(format: LineFormat, now: Instant) -> Self {
        Self {
            since: now,
            bytes_per_ms: (format.bytes_for_ms(1) as u64).max(1),
            audio_bytes: 0,
            others: 0,
            all: 0,
        }
    }

    /// Counts a message with `bytes` bytes of audio.
    pub(crate) fn admit_audio(&mut self, bytes: usize, now: Instant) -> Result<(), Excess> {
        self.count(now)?;
        self.audio_bytes += bytes as u64;
        if self.audio_bytes / self.bytes_per_ms > self.elapsed_ms(now) + AHEAD_MS {
            return Err(Excess::Ahead);
        }
        Ok(())
    }

    /// Counts a message without audio.
    pub(crate) fn admit_other(&mut self, now: Instant) -> Result<(), Excess> {
        self.count(now)?;
        self.others += 1;
        if self.others > BURST + self.elapsed_ms(now) * PER_SECOND / 1000 {
            return Err(Excess::Flood);
        }
        Ok(())
    }

    fn count(&mut self, now: Instant) -> Result<(), Excess> {
        self.all += 1;
        if self.all > ANY_BURST + self.elapsed_ms(now) * ANY_PER_SECOND / 1000 {
            return Err(Excess::Flood);
        }
        Ok(())
    }

    fn elapsed_ms(&self, now: Instant) -> u64 {
        u64::try_from(now.duration_since(self.since).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FRAME: usize = 160;

    #[test]
    fn a_stall_of_ten_seconds_may_be_caught_up_at_once() {
        let since = Instant::now();
        let mut allowance = Allowance::new(LineFormat::MULAW_8000, since);
        for _ in 0..500 {
            assert_eq!(allowance.admit_audio(FRAME, since), Ok(()));
        }
        assert_eq!(allowance.admit_audio(FRAME, since), Err(Excess::Ahead));
        assert_eq!(allowance.admit_audio(FRAME, since + Duration::from_secs(1)), Ok(()));
    }

    #[test]
    fn audio_at_its_own_pace_is_taken_for_ever() {
        let since = Instant::now();
        let mut allowance = Allowance::new(LineFormat::MULAW_8000, since);
        for frame in 0..200_000 {
            let now = since + Duration::from_millis(frame * 20);
            assert_eq!(allowance.admit_audio(FRAME, now), Ok(()), "{frame}");
        }
    }

    #[test]
    fn a_flood_of_marks_or_of_crumbs_of_audio_is_refused() {
        let since = Instant::now();
        let mut marks = Allowance::new(LineFormat::MULAW_8000, since);
        let taken = (0..10_000).take_while(|_| marks.admit_other(since).is_ok());
        assert_eq!(taken.count(), 500);
        let mut crumbs = Allowance::new(LineFormat::MULAW_8000, since);
        let taken = (0..10_000).take_while(|_| crumbs.admit_audio(1, since).is_ok());
        assert_eq!(taken.count(), 2_000);
    }
}
