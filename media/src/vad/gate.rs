//! A cheap gate before the neural detector: a high-pass at 200 Hz and an absolute energy threshold with
//! hangover. The threshold is absolute because one relative to the noise floor rises with continuous speech;
//! such a threshold cut 79 % of it.

/// Mean power that opens the gate, relative to full scale: -47 dBFS, 3 dB above line noise of -50 dBFS.
const OPEN_POWER: f32 = 2.0e-5;

/// Blocks of 16 ms for which the gate stays open after the last loud one: 208 ms, longer than the pauses
/// between syllables.
const HANGOVER_BLOCKS: u32 = 13;

const FULL_SCALE: f32 = 32_768.0;

/// State of the high-pass that counts as zero. Within a block of 16 ms the state decays by less than a factor of 10^7, so
/// it stays above the denormal numbers (1.2e-38), with which processors compute many times slower.
const ZERO_STATE: f32 = 1.0e-20;

/// Parts of a block, of 4 ms, by which the end of voice is dated.
const QUARTERS: usize = 4;

pub(super) struct Gate {
    high_pass: HighPass,
    /// Number of blocks until it closes; 0 is closed.
    remaining: u32,
}

impl Gate {
    pub(super) fn new(sample_rate: u32) -> Self {
        Self {
            high_pass: HighPass::new(200.0, sample_rate as f32),
            remaining: 0,
        }
    }

    /// Filters one sample through the high-pass.
    pub(super) fn filter(&mut self, sample: i16) -> i16 {
        self.high_pass.process(f32::from(sample)) as i16
    }

    /// Judges a block of this power. Returns whether the block itself is loud.
    pub(super) fn admit(&mut self, power: f32) -> bool {
        self.high_pass.flush();
        let loud = power >= OPEN_POWER;
        if loud {
            self.remaining = HANGOVER_BLOCKS;
        } else {
            self.remaining = self.remaining.saturating_sub(1);
        }
        loud
    }

    /// Returns whether blocks go to the detector.
    pub(super) fn is_open(&self) -> bool {
        self.remaining > 0
    }
}

/// Returns the end of the last loud quarter of a loud block.
pub(super) fn loud_until(block: &[i16]) -> usize {
    let quarter = (block.len() / QUARTERS).max(1);
    let loud = block.chunks(quarter).rposition(|part| power(part) >= OPEN_POWER);
    loud.map_or(block.len(), |at| ((at + 1) * quarter).min(block.len()))
}

/// Returns the mean power of filtered samples, relative to full scale.
pub(super) fn power(samples: &[i16]) -> f32 {
    let energy: f32 = samples.iter().map(|&s| f32::from(s) * f32::from(s)).sum();
    energy / (FULL_SCALE * FULL_SCALE * samples.len() as f32)
}

/// A second-order Butterworth high-pass in transposed direct form II.
struct HighPass {
    b: [f32; 3],
    a: [f32; 2],
    z: [f32; 2],
}

impl HighPass {
    fn new(cutoff_hz: f32, sample_rate: f32) -> Self {
        let k = (std::f32::consts::PI * cutoff_hz / sample_rate).tan();
        let norm = 1.0 / (1.0 + std::f32::consts::SQRT_2 * k + k * k);
        Self {
            b: [norm, -2.0 * norm, norm],
            a: [
                2.0 * (k * k - 1.0) * norm,
                (1.0 - std::f32::consts::SQRT_2 * k + k * k) * norm,
            ],
            z: [0.0; 2],
        }
    }

    fn process(&mut self, x: f32) -> f32 {
        let y = self.b[0] * x + self.z[0];
        self.z[0] = self.b[1] * x - self.a[0] * y + self.z[1];
        self.z[1] = self.b[2] * x - self.a[1] * y;
        y
    }

    /// Sets a state that has decayed to zero, which digital silence would otherwise let decay for ever.
    fn flush(&mut self) {
        for state in &mut self.z {
            if state.abs() < ZERO_STATE {
                *state = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_pass_never_computes_with_denormal_numbers() {
        for (rate, loud) in [(8_000, 1), (8_000, 32_000), (16_000, 1), (16_000, 32_000)] {
            for offset in 0..64 {
                let mut gate = Gate::new(rate);
                let sound = (0..500 + offset).map(|n| if n % 7 < 3 { loud } else { -loud });
                // Silence as linear audio and mu-law have it, and as A-law has it.
                for silence in [0, 8] {
                    let line = sound.clone().chain(std::iter::repeat_n(silence, rate as usize));
                    for (n, sample) in line.enumerate() {
                        gate.filter(sample);
                        let denormal = gate.high_pass.z.iter().any(|z| z.is_subnormal());
                        assert!(!denormal, "{rate} Hz, sample {n}");
                        if (n as u32).is_multiple_of(rate * 16 / 1_000) {
                            gate.admit(0.0);
                        }
                    }
                }
            }
        }
    }
}
