//! Mapping from a connection's audio time to buffer positions. The time starts at zero for each connection,
//! and silence sent to keep it open is not in the buffer.

/// Clock of one connection, in bytes.
#[derive(Debug)]
pub(super) struct AudioClock {
    a_ms: u64,
    /// Bytes sent on this connection.
    sent: u64,
    /// Stretches of buffer audio: start in the connection's audio, and start in the buffer.
    stretches: Vec<(u64, u64)>,
    /// Expected buffer position of the next byte.
    next: u64,
}

/// Maximum number of stretches kept. The words of earlier ones have long been final.
const MOST_STRETCHES: usize = 64;

impl AudioClock {
    /// Creates the clock of a connection whose audio starts at the buffer position `start`.
    pub(super) fn new(start: u64, a_ms: u64) -> Self {
        Self {
            a_ms: a_ms.max(1),
            sent: 0,
            stretches: vec![(0, start)],
            next: start,
        }
    }

    pub(super) fn bytes_a_ms(&self) -> u64 {
        self.a_ms
    }

    /// Returns whether any audio was sent.
    pub(super) fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// Records that audio from a buffer position was sent.
    pub(super) fn sent(&mut self, position: u64, bytes: u64) {
        if position != self.next {
            self.begin(position);
        }
        self.sent += bytes;
        self.next = position + bytes;
    }

    /// Records that silence was sent that is not in the buffer.
    pub(super) fn silence(&mut self, bytes: u64) {
        self.sent += bytes;
        self.begin(self.next);
    }

    /// Returns the buffer position of a time in seconds. An invalid time means the start.
    pub(super) fn position(&self, seconds: f64) -> u64 {
        let ms = (seconds * 1_000.0).round().max(0.0);
        let at = (ms as u64).saturating_mul(self.a_ms).min(self.sent);
        let after = self.stretches.partition_point(|(from, _)| *from <= at);
        let within = self.stretches.get(after.saturating_sub(1));
        let (from, position) = within.copied().unwrap_or_default();
        let end = self.stretches.get(after).map_or(self.next, |(_, next)| *next);
        (position + at.saturating_sub(from)).min(end)
    }

    fn begin(&mut self, position: u64) {
        if self.stretches.len() == MOST_STRETCHES {
            self.stretches.remove(0);
        }
        self.stretches.push((self.sent, position));
        self.next = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_the_connection_has_its_place_on_the_audio_buffer() {
        let mut clock = AudioClock::new(80_000, 8);
        assert!(!clock.has_begun());
        clock.sent(80_000, 8_000);
        assert_eq!(clock.position(0.5), 84_000);
        clock.silence(4_000);
        clock.sent(88_000, 8_000);
        assert_eq!(clock.position(1.2), 88_000, "in the silence");
        assert_eq!(clock.position(2.0), 92_000);
        clock.sent(100_000, 8_000);
        assert_eq!(clock.position(2.6), 100_800, "behind a piece that was lost");
        assert_eq!(clock.position(99.0), 108_000, "not beyond what was sent");
        assert_eq!(clock.position(-1.0), 80_000);
        assert_eq!(clock.position(f64::NAN), 80_000);
    }
}
