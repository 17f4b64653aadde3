//! Converts audio between an operator's WebSocket and the call.

use media::{
    codec,
    format::LineFormat,
    listener_audio::FRAME_MS,
    resample::{ResampleError, Resampler},
};

use super::live_socket::Format;

/// Converts audio in both directions.
pub struct OperatorAudio {
    format: LineFormat,
    to_call: Resampler,
    from_call: Resampler,
    decoded: Vec<i16>,
    spoken: Vec<i16>,
    converted: Vec<i16>,
    ready: Vec<u8>,
}

impl OperatorAudio {
    /// Creates a converter between an operator's format and a call of `sample_rate` Hz.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn new(format: Format, sample_rate: u32) -> Result<Self, ResampleError> {
        let format = format.line();
        Ok(Self {
            format,
            to_call: Resampler::live(format.sample_rate, sample_rate)?,
            from_call: Resampler::live(sample_rate, format.sample_rate)?,
            decoded: Vec::new(),
            spoken: Vec::new(),
            converted: Vec::new(),
            ready: Vec::new(),
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
    pub fn hear(&mut self, samples: &[i16]) {
        self.converted.clear();
        self.from_call.process(samples, &mut self.converted);
        codec::encode(self.format.encoding, &self.converted, &mut self.ready);
    }

    /// Returns the next 20 ms for the operator, if they are complete.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let length = self.format.bytes_for_ms(FRAME_MS);
        (self.ready.len() >= length).then(|| self.ready.drain(..length).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_format_meets_any_line() {
        for format in [Format::Pcm16, Format::Pcm8, Format::MuLaw8] {
            for rate in [8_000, 16_000] {
                let mut audio = OperatorAudio::new(format, rate).unwrap();
                let (mut spoken, mut frames) = (0, 0);
                for _ in 0..50 {
                    spoken += audio.spoken(&vec![0; format.line().bytes_for_ms(20)]).len();
                    audio.hear(&vec![0; rate as usize / 50]);
                    while let Some(frame) = audio.next_frame() {
                        assert_eq!(frame.len(), format.line().bytes_for_ms(20));
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
