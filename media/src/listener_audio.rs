//! Audio for a listener: both sides of a call in the format that the listener asked for, in frames of 20 ms.

use crate::{
    codec,
    format::{Encoding, LineFormat},
    resample::ResampleError,
    translate::Translator,
};

/// Length of a frame in milliseconds.
pub const FRAME_MS: u32 = 20;

/// Converts a call's audio.
#[derive(Debug)]
pub struct ListenerAudio {
    format: LineFormat,
    /// Rate of the call so far.
    sample_rate: u32,
    /// One channel if the sides are mixed, or one for each side.
    channels: Vec<Channel>,
}

#[derive(Debug, Default)]
struct Channel {
    translator: Option<Translator>,
    pcm: Vec<i16>,
    ready: Vec<u8>,
}

impl ListenerAudio {
    /// Creates a converter to this format, with the sides mixed or apart.
    pub fn new(format: LineFormat, apart: bool) -> Self {
        let channels = if apart { 2 } else { 1 };
        Self {
            format,
            sample_rate: 0,
            channels: (0..channels).map(|_| Channel::default()).collect(),
        }
    }

    /// Takes samples of both sides, interleaved: user, agent. The rate may change between calls.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no converter between the rates.
    pub fn push(&mut self, sample_rate: u32, samples: &[i16]) -> Result<(), ResampleError> {
        let from = LineFormat {
            encoding: Encoding::Linear16,
            sample_rate,
        };
        if sample_rate != self.sample_rate {
            for channel in &mut self.channels {
                channel.translator = Translator::between(from, self.format)?;
            }
            self.sample_rate = sample_rate;
        }
        let pairs = samples.chunks_exact(2);
        match self.channels.as_mut_slice() {
            [mixed] => mixed.push(pairs.map(|pair| pair[0].saturating_add(pair[1]))),
            sides => {
                for (side, channel) in sides.iter_mut().enumerate() {
                    channel.push(pairs.clone().map(|pair| pair[side]));
                }
            }
        }
        Ok(())
    }

    /// Returns the next frame, if it is complete. If the sides are apart, their samples alternate: user, agent.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let length = self.format.bytes_for_ms(FRAME_MS);
        if self.channels.iter().any(|channel| channel.ready.len() < length) {
            return None;
        }
        let mut sides = self.channels.iter_mut().map(|channel| channel.ready.drain(..length));
        let first: Vec<u8> = sides.next()?.collect();
        let Some(second) = sides.next() else {
            return Some(first);
        };
        let (second, width) = (second.collect::<Vec<u8>>(), self.format.encoding.bytes_per_sample());
        let pairs = first.chunks_exact(width).zip(second.chunks_exact(width));
        Some(
            pairs
                .flat_map(|(first, second)| first.iter().chain(second))
                .copied()
                .collect(),
        )
    }
}

impl Channel {
    fn push(&mut self, samples: impl Iterator<Item = i16>) {
        self.pcm.clear();
        self.pcm.extend(samples);
        let mut linear = Vec::with_capacity(2 * self.pcm.len());
        codec::encode(Encoding::Linear16, &self.pcm, &mut linear);
        match &mut self.translator {
            Some(translator) => self.ready.extend(translator.translate(&linear)),
            None => self.ready.append(&mut linear),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
