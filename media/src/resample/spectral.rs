//! Converts rates other than 8 ↔ 16 kHz with rubato's FFT resampler: the least work, and up to 40 ms of delay.

use audioadapter_buffers::direct::SequentialSlice;
use rubato::{Fft, FixedSync, Resampler as _, WindowFunction};

use super::rates::ResampleError;

/// Longest block in samples of either side. Rates that need more have no practical common measure.
const LONGEST_BLOCK: usize = 4_096;

pub(super) struct Spectral {
    fft: Fft<f32>,
    /// Input that does not fill a block yet.
    pending: Vec<f32>,
    output: Vec<f32>,
}

impl Spectral {
    pub(super) fn new(from_hz: u32, to_hz: u32) -> Result<Self, ResampleError> {
        let refused = |problem: String| ResampleError::Pair {
            from_hz,
            to_hz,
            problem,
        };
        // The shorter side's block determines the sharpness of the filter: at 16 kHz, 10 ms give a flat
        // response up to 6.8 kHz, but a narrower side needs 20 ms to be flat up to 3.4 kHz.
        let narrow = from_hz.min(to_hz) < 16_000;
        let block = from_hz as usize / if narrow { 50 } else { 100 };
        let fft = Fft::<f32>::new_custom(
            from_hz as usize,
            to_hz as usize,
            block,
            1,
            1,
            WindowFunction::BlackmanHarris2,
            FixedSync::Both,
        )
        .map_err(|error| refused(error.to_string()))?;
        let longest = fft.input_frames_max().max(fft.output_frames_max());
        if longest > LONGEST_BLOCK {
            return Err(refused(format!("their smallest common block is {longest} samples")));
        }
        Ok(Self {
            output: vec![0.0; fft.output_frames_max()],
            pending: Vec::with_capacity(fft.input_frames_max()),
            fft,
        })
    }

    pub(super) fn process(&mut self, mut input: &[i16], into: &mut Vec<i16>) {
        let block = self.fft.input_frames_next();
        while !input.is_empty() {
            let (now, later) = input.split_at(input.len().min(block - self.pending.len()));
            self.pending.extend(now.iter().map(|&sample| f32::from(sample)));
            input = later;
            if self.pending.len() == block {
                self.convert(into);
            }
        }
    }

    /// Pads the last block with silence, and adds another if the delay of the filter still holds some of the signal.
    pub(super) fn flush(&mut self, into: &mut Vec<i16>) {
        let block = self.fft.input_frames_next();
        let waiting = self.pending.len();
        let delay = self.fft.output_delay() * block / self.fft.output_frames_max();
        for _ in 0..(waiting + delay).div_ceil(block) {
            self.pending.resize(block, 0.0);
            self.convert(into);
        }
        self.restart();
    }

    pub(super) fn restart(&mut self) {
        self.pending.clear();
        self.fft.reset();
    }

    fn convert(&mut self, into: &mut Vec<i16>) {
        let frames = (self.pending.len(), self.output.len());
        let input = SequentialSlice::new(&self.pending, 1, frames.0);
        let output = SequentialSlice::new_mut(&mut self.output, 1, frames.1);
        // Neither fails: both buffers always have the length that the resampler asks for.
        if let (Ok(input), Ok(mut output)) = (input, output)
            && let Ok((_, written)) = self.fft.process_into_buffer(&input, &mut output, None)
        {
            into.extend(self.output[..written].iter().map(|value| value.round() as i16));
        }
        self.pending.clear();
    }
}
