//! Converts audio between an operator's WebSocket and the call.

use media::{
    codec,
    format::LineFormat,
    frames::Framer,
    resample::{ResampleError, Resampler},
};

/// Converts audio in both directions.
pub struct OperatorAudio {
    format: LineFormat,
    /// Samples per second of the call.
    sample_rate: u32,
    to_call: Resampler,
    from_call: Framer,
    decoded: Vec<i16>,
    spoken: Vec<i16>,
}

impl OperatorAudio {
    /// Creates a converter between an operator's format and a call of `sample_rate` Hz.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn new(format: LineFormat, sample_rate: u32) -> Result<Self, ResampleError> {
        Ok(Self {
            format,
            sample_rate,
            to_call: Resampler::live(format.sample_rate, sample_rate)?,
            from_call: Framer::new(format),
            decoded: Vec::new(),
            spoken: Vec::new(),
        })
    }

    /// Returns a message of the operator as samples of the call.
    pub fn spoken(&mut self, message: &[u8]) -> &[i16] {
        self.decoded.clear();
        self.spoken.clear();
        codec::decode(self.format.encoding, message, &mut self.decoded);
        self.to_call.process(&self.decoded, &mut self.spoken);
        &self.spoken
    }

    /// Takes samples of the user.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn hear(&mut self, samples: &[i16]) -> Result<(), ResampleError> {
        self.from_call.push(self.sample_rate, samples)
    }

    /// Returns the next 20 ms for the operator, if they are complete.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.from_call.next_frame()
    }
}

#[cfg(test)]
mod tests {
    use media::format::Encoding;

    use super::*;

    const LINEAR_8000: LineFormat = LineFormat {
        encoding: Encoding::Linear16,
        sample_rate: 8_000,
    };

    #[test]
    fn any_format_meets_any_line() {
        for format in [LineFormat::of_rate(16_000), LINEAR_8000, LineFormat::MULAW_8000] {
            for rate in [8_000, 16_000] {
                let mut audio = OperatorAudio::new(format, rate).unwrap();
                let (mut spoken, mut frames) = (0, 0);
                for _ in 0..50 {
                    spoken += audio.spoken(&vec![0; format.bytes_for_ms(20)]).len();
                    audio.hear(&vec![0; rate as usize / 50]).unwrap();
                    while let Some(frame) = audio.next_frame() {
                        assert_eq!(frame.len(), format.bytes_for_ms(20));
                        frames += 1;
                    }
                }
                assert!((49..=50).contains(&frames), "{format:?} {rate}: {frames}");
                assert!(
                    spoken.abs_diff(rate as usize) <= rate as usize / 50,
                    "{format:?} {rate}: {spoken}"
                );
            }
        }
    }
}
