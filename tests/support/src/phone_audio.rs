//! Audio that a phone played, measured in samples: how long it was silent, and whether something clicked.

/// Samples of a millisecond.
pub const MS: usize = 8;

/// Level above which a sample is no silence.
const AUDIBLE: u16 = 60;

/// Samples at 8 kHz, from the opening of the phone's media on.
pub struct PhoneAudio(pub Vec<i16>);

impl PhoneAudio {
    /// Returns the milliseconds played so far.
    pub fn length_ms(&self) -> usize {
        self.0.len() / MS
    }

    /// Returns the longest silence since `from_ms`, in samples. Silence at the end counts.
    pub fn longest_silence(&self, from_ms: usize) -> usize {
        let since = &self.0[self.0.len().min(from_ms * MS)..];
        let silences = since.split(|sample| sample.unsigned_abs() > AUDIBLE).map(<[i16]>::len);
        silences.max().unwrap_or(0)
    }

    /// Returns the largest step between two successive samples since `from_ms`.
    pub fn largest_step(&self, from_ms: usize) -> i32 {
        let since = &self.0[self.0.len().min(from_ms * MS)..];
        let steps = since
            .windows(2)
            .map(|pair| (i32::from(pair[1]) - i32::from(pair[0])).abs());
        steps.max().unwrap_or(0)
    }
}
