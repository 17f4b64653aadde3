//! A caller's voice: its pitch and the movement of the pitch.

/// A voice. All voices are recognised equally well; they differ for human listeners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voice {
    /// Mean fundamental frequency in Hz. The code was tested with 105 to 165.
    pub f0_hz: f32,
    /// Wobbles of the pitch per second.
    pub wobble_hz: f32,
}

/// Allowed mean pitches in Hz.
const F0_HZ: std::ops::RangeInclusive<f32> = 105.0..=165.0;

impl Voice {
    /// Creates a voice with a mean pitch, limited to the tested range.
    pub fn new(f0_hz: f32) -> Self {
        let f0_hz = if f0_hz.is_nan() { *F0_HZ.start() } else { f0_hz };
        Self {
            f0_hz: f0_hz.clamp(*F0_HZ.start(), *F0_HZ.end()),
            wobble_hz: 0.9,
        }
    }

    /// Creates the voice of a name, always the same for the same name.
    pub fn named(name: &str) -> Self {
        // FNV-1a is stable across builds and platforms, unlike the standard hasher.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let span = F0_HZ.end() - F0_HZ.start();
        let share = |bits: u64| (bits % 1_000) as f32 / 999.0;
        Self {
            f0_hz: F0_HZ.start() + span * share(hash >> 32),
            wobble_hz: 0.6 + 0.8 * share(hash >> 16),
        }
    }

    /// Returns the pitch in Hz at `seconds` of an utterance of which the share `done` (0 to 1) has passed. It
    /// falls, with a slow wobble, by 8 % at most to either side.
    pub(super) fn pitch_hz(&self, seconds: f32, done: f32) -> f32 {
        let fall = 0.05 * (1.0 - 2.0 * done);
        let wobble = 0.03 * (std::f32::consts::TAU * self.wobble_hz * seconds).sin();
        self.f0_hz * (1.0 + fall + wobble)
    }
}
