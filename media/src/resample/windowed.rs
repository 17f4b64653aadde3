//! Converts line rates other than 8 ↔ 16 kHz with rubato's windowed sinc. Every sample is delayed by 4 ms; a
//! block of the FFT takes 10 or 20.

use std::sync::{Mutex, PoisonError};

use audioadapter_buffers::direct::SequentialSlice;
use rubato::{
    Async, FixedAsync, Resampler as _, SincInterpolationParameters, SincInterpolationType, WindowFunction,
    calculate_cutoff,
};

use super::rates::ResampleError;

/// Length of the filter in samples of the slower side: 8 ms at 16 kHz, flat up to 6.8 kHz.
const TAPS: usize = 128;
/// Window of the filter.
const WINDOW: WindowFunction = WindowFunction::BlackmanHarris2;
/// Points of the filter between two samples. Cubic interpolation between them is exact to more than 16 bits.
const POINTS: usize = 32;
/// Blocks per second: a sample waits 2 ms at most for the others of its block.
const BLOCKS: u32 = 500;

pub(super) struct Windowed {
    /// Never locked. Rubato's type may be sent between threads but not shared, and it is not shared.
    sinc: Mutex<Async<f32>>,
    /// Samples of a block of input.
    block: usize,
    /// Input that does not fill a block yet.
    pending: Vec<f32>,
    output: Vec<f32>,
    /// Samples of input that the filter spans.
    taps: usize,
}

impl Windowed {
    pub(super) fn new(from_hz: u32, to_hz: u32) -> Result<Self, ResampleError> {
        let ratio = f64::from(to_hz) / f64::from(from_hz);
        let taps = (TAPS as f64 * (1.0 / ratio).max(1.0)).ceil() as usize;
        // Computed for the slower side. For a longer filter rubato would choose a higher cutoff, which lets aliases in.
        let cutoff = calculate_cutoff(TAPS, WINDOW);
        let parameters = SincInterpolationParameters::new(taps, WINDOW)
            .f_cutoff(cutoff)
            .oversampling_factor(POINTS)
            .interpolation(SincInterpolationType::Cubic);
        let block = (from_hz / BLOCKS).max(1) as usize;
        let sinc = Async::new_sinc(ratio, 1.0, &parameters, block, 1, FixedAsync::Input).map_err(|error| {
            ResampleError::Pair {
                from_hz,
                to_hz,
                problem: error.to_string(),
            }
        })?;
        Ok(Self {
            output: vec![0.0; sinc.output_frames_max()],
            pending: Vec::with_capacity(block),
            sinc: Mutex::new(sinc),
            block,
            taps,
        })
    }

    pub(super) fn process(&mut self, mut input: &[i16], into: &mut Vec<i16>) {
        let block = self.block;
        while !input.is_empty() {
            let (now, later) = input.split_at(input.len().min(block - self.pending.len()));
            self.pending.extend(now.iter().map(|&sample| f32::from(sample)));
            input = later;
            if self.pending.len() == block {
                self.convert(into);
            }
        }
    }

    /// Pads the waiting samples with silence until the filter is empty.
    pub(super) fn flush(&mut self, into: &mut Vec<i16>) {
        let block = self.block;
        for _ in 0..(self.pending.len() + self.taps / 2 + 2).div_ceil(block) {
            self.pending.resize(block, 0.0);
            self.convert(into);
        }
        self.restart();
    }

    pub(super) fn restart(&mut self) {
        self.pending.clear();
        self.sinc.get_mut().unwrap_or_else(PoisonError::into_inner).reset();
    }

    fn convert(&mut self, into: &mut Vec<i16>) {
        let frames = (self.pending.len(), self.output.len());
        let input = SequentialSlice::new(&self.pending, 1, frames.0);
        let output = SequentialSlice::new_mut(&mut self.output, 1, frames.1);
        // None of these fails: both buffers always have the length that the resampler asks for, and the mutex
        // is never locked.
        if let (Ok(input), Ok(mut output)) = (input, output)
            && let Ok(sinc) = self.sinc.get_mut()
            && let Ok((_, written)) = sinc.process_into_buffer(&input, &mut output, None)
        {
            into.extend(self.output[..written].iter().map(|value| value.round() as i16));
        }
        self.pending.clear();
    }
}
