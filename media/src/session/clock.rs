//! Time of the incoming stream: the time of the received audio, or of the clock while none comes.

/// Time in milliseconds without audio after which the line counts as silent and its time follows the clock.
/// Carriers stream silence too, so missing audio is late: a stalled connection delivers a second at once.
pub(super) const STALL_MS: u64 = 1_200;

/// Milliseconds of audio between corrections of 1 ms towards a delay that grew: 0.1 %, more than two clocks differ.
const DRIFT_INTERVAL_MS: u64 = 1_000;

/// Clock of a stream.
#[derive(Debug, Default)]
pub(super) struct StreamClock {
    /// End of the received audio in the session's milliseconds, or `None` before the first audio.
    heard_ms: Option<u64>,
    last_receive_ms: u64,
    /// Delay of the stream behind the clock if nothing is late. Negative if the stream runs ahead.
    delay_ms: i64,
    since_correction_ms: u64,
}

impl StreamClock {
    /// Notes `length_ms` of audio received now. Returns the milliseconds of silence to insert before it, for
    /// audio that the line did not send. Audio that is merely late makes no gap if it comes at once.
    pub(super) fn receive(&mut self, length_ms: u64, now_ms: u64) -> u64 {
        self.last_receive_ms = now_ms;
        let Some(heard_ms) = self.heard_ms else {
            self.heard_ms = Some(now_ms.max(length_ms));
            self.delay_ms = now_ms as i64 - now_ms.max(length_ms) as i64;
            return 0;
        };
        let expected_ms = now_ms.saturating_add_signed(-self.delay_ms);
        let missing_ms = expected_ms.saturating_sub(heard_ms + length_ms);
        let gap_ms = if missing_ms > STALL_MS { missing_ms } else { 0 };
        let heard_ms = heard_ms + gap_ms + length_ms;
        self.heard_ms = Some(heard_ms);
        self.correct(now_ms as i64 - heard_ms as i64, length_ms);
        gap_ms
    }

    fn correct(&mut self, delay_ms: i64, length_ms: u64) {
        self.since_correction_ms += length_ms;
        if delay_ms < self.delay_ms {
            self.delay_ms = delay_ms;
        } else if self.since_correction_ms >= DRIFT_INTERVAL_MS {
            self.since_correction_ms = 0;
            self.delay_ms += i64::from(delay_ms > self.delay_ms);
        }
    }

    /// Returns whether there was audio, and none for so long that the line counts as silent.
    pub(super) fn is_stalled(&self, now_ms: u64) -> bool {
        self.heard_ms.is_some() && now_ms > self.last_receive_ms + STALL_MS
    }

    /// Returns the end of the received audio.
    pub(super) fn heard_ms(&self) -> u64 {
        self.heard_ms.unwrap_or(0)
    }

    /// Returns the stream's time.
    pub(super) fn now(&self, now_ms: u64) -> u64 {
        match self.heard_ms {
            None => now_ms,
            Some(heard_ms) if now_ms <= self.last_receive_ms + STALL_MS => heard_ms,
            Some(heard_ms) => heard_ms.max(now_ms.saturating_add_signed(-self.delay_ms)),
        }
    }

    /// Returns when the stream's time reaches `at_ms` if no more audio comes.
    pub(super) fn clock_time(&self, at_ms: u64) -> u64 {
        match self.heard_ms {
            None => at_ms,
            Some(heard_ms) if at_ms <= heard_ms => self.last_receive_ms,
            Some(_) => (self.last_receive_ms + STALL_MS + 1).max(at_ms.saturating_add_signed(self.delay_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_audio_and_in_a_stall_the_clock() {
        let mut clock = StreamClock::default();
        for n in 1..=50 {
            assert_eq!(clock.receive(20, 100 + n * 20), 0);
        }
        assert_eq!(clock.now(1_100), 1_120 - 20);
        assert_eq!(clock.now(1_300), 1_100, "frames may be late");
        assert!(!clock.is_stalled(2_300) && clock.is_stalled(2_400));
        assert_eq!(clock.now(2_400), 2_400, "a silent line");
        assert_eq!(clock.clock_time(2_350), 2_350);
        assert_eq!(
            clock.receive(20, 3_100),
            1_980,
            "what the line kept to itself was silence"
        );
        assert_eq!(clock.heard_ms(), 3_100);
    }

    #[test]
    fn late_audio_that_comes_at_once_makes_no_gap() {
        let mut clock = StreamClock::default();
        clock.receive(20, 20);
        assert_eq!(clock.receive(980, 1_000), 0);
        assert_eq!(clock.heard_ms(), 1_000);
        assert_eq!(clock.receive(400, 1_020), 0, "running ahead is no gap either");
        assert_eq!(clock.receive(20, 1_040), 0);
    }

    #[test]
    fn two_clocks_that_differ_make_no_gap() {
        let mut clock = StreamClock::default();
        // The carrier's clock is 500 ppm slow: every frame is 10 µs late.
        let gaps: u64 = (1..200_000u64).map(|n| clock.receive(20, n * 20 + n / 100)).sum();
        assert_eq!(gaps, 0);
    }
}
