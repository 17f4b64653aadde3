//! The shape of the audio after the answer: how long somebody talks without a pause, and when it was silent.

/// Pause in milliseconds that ends a stretch of steady talk: machines read on, people wait.
const STEADY_GAP_MS: u64 = 1_000;

/// Silence in milliseconds after which voice no longer belongs to the greeting.
const GREETING_GAP_MS: u64 = 3_000;

/// Times of voice, in milliseconds of the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    voice: Option<Voice>,
}

#[derive(Debug, Clone, Copy)]
struct Voice {
    /// First voice of the greeting.
    from_ms: u64,
    /// First voice of the present stretch.
    run_from_ms: u64,
    last_ms: u64,
    longest_ms: u64,
}

impl Shape {
    /// Takes a block of voice that ends at `at_ms`. Returns true if a new greeting begins with it.
    pub(super) fn voiced(&mut self, onset_ms: u64, at_ms: u64) -> bool {
        let Some(voice) = &mut self.voice else {
            self.begin(onset_ms, at_ms);
            return true;
        };
        let gap_ms = onset_ms.saturating_sub(voice.last_ms);
        if gap_ms >= GREETING_GAP_MS {
            self.begin(onset_ms, at_ms);
            return true;
        }
        if gap_ms >= STEADY_GAP_MS {
            voice.run_from_ms = onset_ms;
        }
        voice.last_ms = voice.last_ms.max(at_ms);
        voice.longest_ms = voice.longest_ms.max(voice.last_ms.saturating_sub(voice.run_from_ms));
        false
    }

    /// Takes words without detected voice, such as on a line that is too quiet for the voice detector.
    pub(super) fn words(&mut self, from_ms: u64, to_ms: u64) {
        if self.voice.is_none() {
            self.begin(from_ms.min(to_ms), to_ms);
        }
    }

    fn begin(&mut self, onset_ms: u64, at_ms: u64) {
        self.voice = Some(Voice {
            from_ms: onset_ms,
            run_from_ms: onset_ms,
            last_ms: at_ms,
            longest_ms: at_ms.saturating_sub(onset_ms),
        });
    }

    /// Returns the start of the present greeting.
    pub(super) fn began_ms(&self) -> Option<u64> {
        self.voice.map(|voice| voice.from_ms)
    }

    /// Returns the end of the last voice.
    pub(super) fn last_voiced_ms(&self) -> Option<u64> {
        self.voice.map(|voice| voice.last_ms)
    }

    /// Returns the longest stretch of the greeting without a pause of a second, in milliseconds.
    pub(super) fn steady_ms(&self) -> u64 {
        self.voice.map_or(0, |voice| voice.longest_ms)
    }

    /// Returns the silence since the last voice, in milliseconds.
    pub(super) fn silent_ms(&self, at_ms: u64) -> u64 {
        self.voice.map_or(at_ms, |voice| at_ms.saturating_sub(voice.last_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_pause_belongs_to_the_stretch_and_a_long_one_ends_it() {
        let mut shape = Shape::default();
        assert!(shape.voiced(400, 1_400));
        assert!(!shape.voiced(2_300, 3_400), "a pause of 0.9 s");
        assert_eq!(shape.steady_ms(), 3_000);
        assert!(!shape.voiced(4_400, 4_900), "a pause of 1 s");
        assert_eq!((shape.steady_ms(), shape.began_ms()), (3_000, Some(400)));
        assert_eq!(shape.silent_ms(6_000), 1_100);
        assert!(shape.voiced(7_900, 8_000), "another greeting");
        assert_eq!((shape.steady_ms(), shape.began_ms()), (100, Some(7_900)));
    }
}
