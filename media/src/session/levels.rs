//! Loudness of the agent's speech in steps of 16 ms, with which an echo of it is compared.

/// Level in dBFS while nothing is played.
pub(super) const SILENT_DB: f32 = -100.0;

/// Samples of a level at 8 kHz: 16 ms, like the blocks of the voice detector.
const BLOCK_8K: usize = 128;

/// Levels of a speech in dBFS, one byte each.
pub(super) struct Levels {
    block: usize,
    levels: Vec<i8>,
    energy: f32,
    filled: usize,
}

impl Levels {
    pub(super) fn new(sample_rate: u32) -> Self {
        Self {
            block: BLOCK_8K * (sample_rate as usize / 8_000).max(1),
            levels: Vec::new(),
            energy: 0.0,
            filled: 0,
        }
    }

    pub(super) fn push(&mut self, mut samples: &[i16]) {
        while !samples.is_empty() {
            let (now, later) = samples.split_at(samples.len().min(self.block - self.filled));
            self.energy += now.iter().map(|&s| f32::from(s) * f32::from(s)).sum::<f32>();
            self.filled += now.len();
            samples = later;
            if self.filled == self.block {
                let power = self.energy / (self.block as f32 * 32_768.0 * 32_768.0);
                self.levels.push((10.0 * power.max(1.0e-10).log10()) as i8);
                (self.energy, self.filled) = (0.0, 0);
            }
        }
    }

    /// Returns the level at a position in samples.
    pub(super) fn at(&self, position: u64) -> f32 {
        let level = self.levels.get(position as usize / self.block);
        level.map_or(SILENT_DB, |&level| f32::from(level))
    }
}
