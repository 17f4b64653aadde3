//! Opus packets of 20 ms, for listeners.

use opus_pure::{Application, OpusEncoder};

use crate::{
    codec,
    format::{Encoding, LineFormat},
};

/// Format of the frames that are encoded: wideband, which is more than a telephone carries. Any Opus decoder gives 48 kHz.
pub const FRAMES: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 16_000,
};

/// Bits per second of each channel.
const BITRATE: i32 = 32_000;

/// Most bytes of a packet with one frame (RFC 6716, section 3.2.1).
const PACKET_BYTES: usize = 1_275;

/// Encodes a stream.
pub struct OpusPackets {
    encoder: Box<OpusEncoder>,
    channels: usize,
    pcm: Vec<i16>,
}

impl OpusPackets {
    /// Creates an encoder of one or two channels.
    ///
    /// # Errors
    ///
    /// Returns an error for another number of channels.
    pub fn new(channels: u8) -> Result<Self, opus_pure::Error> {
        let channels = usize::from(channels);
        let rate = FRAMES.sample_rate.cast_signed();
        // Many listeners may share a node, and this is by far the cheapest way to encode.
        let mut encoder = OpusEncoder::new(rate, channels, Application::RestrictedLowDelay)?;
        encoder.complexity = 0;
        encoder.bitrate_bps = BITRATE * if channels == 1 { 1 } else { 2 };
        Ok(Self {
            encoder: Box::new(encoder),
            channels,
            pcm: Vec::new(),
        })
    }

    /// Returns the packet of the next 20 ms, whose channels are interleaved. `None` if it has another length.
    pub fn encode(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        self.pcm.clear();
        codec::decode(FRAMES.encoding, frame, &mut self.pcm);
        let mut packet = vec![0; PACKET_BYTES];
        let samples = self.pcm.len() / self.channels;
        let length = self.encoder.encode_s16(&self.pcm, samples, &mut packet).ok()?;
        packet.truncate(length);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use opus_pure::OpusDecoder;

    use super::*;

    #[test]
    fn a_decoder_at_48_khz_gets_20_ms_of_each_side_from_each_packet() {
        let mut packets = OpusPackets::new(2).unwrap();
        let mut decoder = OpusDecoder::new(48_000, 2).unwrap();
        let mut energy = [0.0_f64; 2];
        for frame in 0..50 {
            let tone = |n: usize| (8_000.0 * (TAU * 500.0 * (frame * 320 + n) as f64 / 16_000.0).sin()) as i16;
            let samples = (0..320).flat_map(|n| [tone(n), 0]);
            let bytes: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
            let packet = packets.encode(&bytes).unwrap();
            assert!(packet.len() < 400, "{}", packet.len());
            let mut decoded = vec![0.0_f32; 1_920];
            assert_eq!(decoder.decode(&packet, 960, &mut decoded).unwrap(), 960);
            for (at, sample) in decoded.iter().enumerate() {
                energy[at % 2] += f64::from(*sample).powi(2);
            }
        }
        let [tone, silence] = energy.map(|energy| (energy / 48_000.0).sqrt());
        // 8,000 of 32,768 as a sine.
        assert!((0.12..0.22).contains(&tone), "{tone}");
        assert!(silence < tone / 10.0, "{silence}");
        assert_eq!(packets.encode(&[0; 100]), None, "no frame of Opus");
    }
}
