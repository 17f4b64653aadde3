//! Cuts a stream of samples into frames of 20 ms in one format.

use crate::{
    codec,
    format::LineFormat,
    resample::{ResampleError, Resampler},
};

/// Length of a frame in milliseconds.
pub const FRAME_MS: u32 = 20;

/// Cuts a mono stream into frames.
pub struct Framer {
    format: LineFormat,
    /// Rate of the stream so far, and the converter from it.
    from: Option<(u32, Resampler)>,
    converted: Vec<i16>,
    ready: Vec<u8>,
}

impl Framer {
    /// Creates a framer for this format.
    pub fn new(format: LineFormat) -> Self {
        Self {
            format,
            from: None,
            converted: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Takes samples. Their rate may change between calls.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn push(&mut self, sample_rate: u32, samples: &[i16]) -> Result<(), ResampleError> {
        let resampler = match &mut self.from {
            Some((rate, resampler)) if *rate == sample_rate => resampler,
            from => {
                let resampler = Resampler::live(sample_rate, self.format.sample_rate)?;
                &mut from.insert((sample_rate, resampler)).1
            }
        };
        self.converted.clear();
        resampler.process(samples, &mut self.converted);
        codec::encode(self.format.encoding, &self.converted, &mut self.ready);
        Ok(())
    }

    /// Returns whether the next frame is complete.
    pub fn has_frame(&self) -> bool {
        self.ready.len() >= self.frame_bytes()
    }

    /// Returns the next frame, if it is complete.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let length = self.frame_bytes();
        self.has_frame().then(|| self.ready.drain(..length).collect())
    }

    fn frame_bytes(&self) -> usize {
        self.format.bytes_for_ms(FRAME_MS)
    }
}
