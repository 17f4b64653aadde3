//! Audio for a listener: both sides of a call in the format that the listener asked for, in frames or packets of 20 ms.

use crate::{
    format::LineFormat,
    frames::Framer,
    opus::{self, OpusPackets},
    resample::ResampleError,
};

/// Converts a call's audio.
pub struct ListenerAudio {
    format: LineFormat,
    /// One if the sides are mixed, or one for each side.
    channels: Vec<Framer>,
    pcm: Vec<i16>,
    /// Encoder of the frames; `None` if they are sent as they are.
    packets: Option<OpusPackets>,
}

impl ListenerAudio {
    /// Creates a converter to this format, with the sides mixed or apart.
    pub fn new(format: LineFormat, apart: bool) -> Self {
        let channels = if apart { 2 } else { 1 };
        Self {
            format,
            channels: (0..channels).map(|_| Framer::new(format)).collect(),
            pcm: Vec::new(),
            packets: None,
        }
    }

    /// Creates a converter to Opus, with the sides mixed or as two channels.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no encoder.
    pub fn opus(apart: bool) -> Result<Self, opus_pure::Error> {
        Ok(Self {
            packets: Some(OpusPackets::new(if apart { 2 } else { 1 })?),
            ..Self::new(opus::FRAMES, apart)
        })
    }

    /// Takes samples of both sides, interleaved: user, agent. The rate may change between calls.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn push(&mut self, sample_rate: u32, samples: &[i16]) -> Result<(), ResampleError> {
        let is_mixed = self.channels.len() == 1;
        for (side, channel) in self.channels.iter_mut().enumerate() {
            let pairs = samples.chunks_exact(2);
            self.pcm.clear();
            match is_mixed {
                true => self.pcm.extend(pairs.map(|pair| pair[0].saturating_add(pair[1]))),
                false => self.pcm.extend(pairs.map(|pair| pair[side])),
            }
            channel.push(sample_rate, &self.pcm)?;
        }
        Ok(())
    }

    /// Returns the next frame or its packet, if it is complete. If the sides are apart, their samples alternate: user, agent.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let frame = self.next_samples()?;
        match &mut self.packets {
            Some(packets) => packets.encode(&frame),
            None => Some(frame),
        }
    }

    fn next_samples(&mut self) -> Option<Vec<u8>> {
        if !self.channels.iter().all(Framer::has_frame) {
            return None;
        }
        let mut sides = self.channels.iter_mut().filter_map(Framer::next_frame);
        let first = sides.next()?;
        let Some(second) = sides.next() else {
            return Some(first);
        };
        let width = self.format.encoding.bytes_per_sample();
        let pairs = first.chunks_exact(width).zip(second.chunks_exact(width));
        Some(
            pairs
                .flat_map(|(first, second)| first.iter().chain(second))
                .copied()
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codec, format::Encoding};

    const LINEAR_8000: LineFormat = LineFormat {
        encoding: Encoding::Linear16,
        sample_rate: 8_000,
    };

    fn both(user: i16, agent: i16) -> Vec<i16> {
        [user, agent].repeat(160)
    }

    fn samples(frame: &[u8]) -> Vec<i16> {
        let mut samples = Vec::new();
        codec::decode(Encoding::Linear16, frame, &mut samples);
        samples
    }

    #[test]
    fn sides_are_mixed_without_wrapping_or_kept_apart() {
        let mut mixed = ListenerAudio::new(LINEAR_8000, false);
        mixed.push(8_000, &both(30_000, 10_000)).unwrap();
        assert_eq!(samples(&mixed.next_frame().unwrap()), [i16::MAX; 160]);
        assert_eq!(mixed.next_frame(), None);
        let mut apart = ListenerAudio::new(LINEAR_8000, true);
        apart.push(8_000, &both(1, -2)[..200]).unwrap();
        assert_eq!(apart.next_frame(), None, "not 20 ms yet");
        apart.push(8_000, &both(1, -2)[200..]).unwrap();
        assert_eq!(samples(&apart.next_frame().unwrap()), both(1, -2));
    }

    #[test]
    fn a_call_that_changes_its_rate_goes_on_in_the_listeners_format() {
        for format in [LineFormat::MULAW_8000, LINEAR_8000, LineFormat::of_rate(16_000)] {
            let mut audio = ListenerAudio::new(format, true);
            let mut frames = 0;
            for rate in [8_000, 16_000, 8_000] {
                for _ in 0..50 {
                    audio.push(rate, &[1_000, -1_000].repeat(rate as usize / 50)).unwrap();
                    while let Some(frame) = audio.next_frame() {
                        assert_eq!(frame.len(), 2 * format.bytes_for_ms(20));
                        frames += 1;
                    }
                }
            }
            assert!((147..=150).contains(&frames), "{format:?}: {frames}");
        }
    }
}
