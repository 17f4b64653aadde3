//! Sound at a callee's phone, and the silences in it.

use std::time::{Duration, Instant};

/// Duration of a byte of mu-law.
const BYTE: Duration = Duration::from_micros(125);

/// Magnitude in mu-law's own steps up to which a sample is silence.
const QUIET: u8 = 15;

/// Sound of one call, over all of its media sockets. Like a carrier, it plays what it gets one after the other.
#[derive(Debug, Default)]
pub struct Sound {
    /// Time until which everything received plays.
    plays_until: Option<Instant>,
    /// End of the last sound in it.
    audible_until: Option<Instant>,
    /// Longest silence between two sounds since it was asked for.
    longest: Duration,
}

impl Sound {
    /// Adds audio of the service.
    pub fn add(&mut self, mulaw: &[u8], now: Instant) {
        let begins = self.plays_until.map_or(now, |until| until.max(now));
        let ends = begins + BYTE * u32::try_from(mulaw.len()).unwrap_or(u32::MAX);
        self.plays_until = Some(ends);
        if mulaw.iter().all(|byte| !byte & 0x7f <= QUIET) {
            return;
        }
        if let Some(until) = self.audible_until {
            self.longest = self.longest.max(begins.saturating_duration_since(until));
        }
        self.audible_until = Some(ends);
    }

    /// Drops what has not been played.
    pub fn clear(&mut self, now: Instant) {
        for until in [&mut self.plays_until, &mut self.audible_until] {
            *until = until.map(|until| until.min(now));
        }
    }

    /// Returns the longest silence since this was asked last, the present one included.
    pub fn take_longest_silence(&mut self, now: Instant) -> Duration {
        let present = self.audible_until.map(|until| now.saturating_duration_since(until));
        std::mem::take(&mut self.longest).max(present.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: [u8; 160] = [0x90; 160];
    const SILENT: [u8; 160] = [0xff; 160];

    #[test]
    fn silence_is_counted_between_sounds_and_to_the_present() {
        let (began, mut sound) = (Instant::now(), Sound::default());
        let at = |ms| began + Duration::from_millis(ms);
        sound.add(&LOUD, at(0));
        // Sent ahead, so it plays after the first.
        sound.add(&LOUD, at(5));
        sound.add(&SILENT, at(10));
        sound.add(&LOUD, at(500));
        assert_eq!(sound.take_longest_silence(at(600)), Duration::from_millis(460));
        assert_eq!(sound.take_longest_silence(at(900)), Duration::from_millis(380));
        for _ in 0..50 {
            sound.add(&LOUD, at(1_000));
        }
        sound.clear(at(1_200));
        assert_eq!(sound.take_longest_silence(at(1_900)), Duration::from_millis(700));
    }
}
