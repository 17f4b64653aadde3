//! Where on the buffer a moment of a connection's own audio is: its time begins at nought, and silence that keeps it open
//! is not on the buffer.

/// The clock of one connection, in bytes.
#[derive(Debug)]
pub(super) struct AudioClock {
    a_ms: u64,
    /// Bytes sent on this connection.
    sent: u64,
    /// Stretches that are on the buffer: where they begin in the connection's audio, and on the buffer.
    stretches: Vec<(u64, u64)>,
    /// Where on the buffer the next byte is expected.
    next: u64,
}

/// Stretches kept: the words of earlier ones are final long since.
const MOST_STRETCHES: usize = 64;

impl AudioClock {
    /// Of a connection whose audio begins at `start` on the buffer.
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

    /// Whether any audio was sent.
    pub(super) fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// Audio from `position` on the buffer was sent.
    pub(super) fn sent(&mut self, position: u64, bytes: u64) {
        if position != self.next {
            self.begin(position);
        }
        self.sent += bytes;
        self.next = position + bytes;
    }

    /// Silence was sent that is not on the buffer.
    pub(super) fn silence(&mut self, bytes: u64) {
        self.sent += bytes;
        self.begin(self.next);
    }

    /// The place on the buffer of a moment in seconds; what is none is at its beginning.
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
    fn a_moment_of_the_connection_has_its_place_on_the_tape() {
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
