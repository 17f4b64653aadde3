//! The encodings of a line: G.711 mu-law and A-law (bit-exact to the ITU-T G.191 tools), and linear 16-bit.

mod alaw;
mod linear16;
mod mulaw;

use crate::format::Encoding;

/// Decodes `bytes` and appends the samples to `into`.
///
/// Every byte is a valid sample in G.711. In [`Encoding::Linear16`] an odd trailing byte is half a sample and
/// is ignored: carriers send whole frames, so half a sample means a broken frame and must not shift the
/// following ones.
pub fn decode(encoding: Encoding, bytes: &[u8], into: &mut Vec<i16>) {
    match encoding {
        Encoding::MuLaw => mulaw::decode(bytes, into),
        Encoding::ALaw => alaw::decode(bytes, into),
        Encoding::Linear16 => linear16::decode(bytes, into),
    }
}

/// Encodes `samples` and appends the bytes to `into`.
pub fn encode(encoding: Encoding, samples: &[i16], into: &mut Vec<u8>) {
    match encoding {
        Encoding::MuLaw => mulaw::encode(samples, into),
        Encoding::ALaw => alaw::encode(samples, into),
        Encoding::Linear16 => linear16::encode(samples, into),
    }
}

/// Returns the byte of silence, with which a missing frame is filled.
pub fn silence(encoding: Encoding) -> u8 {
    match encoding {
        Encoding::MuLaw => 0xFF,
        Encoding::ALaw => 0xD5,
        Encoding::Linear16 => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 3] = [Encoding::MuLaw, Encoding::ALaw, Encoding::Linear16];

    fn round_trip(encoding: Encoding, samples: &[i16]) -> Vec<i16> {
        let mut bytes = Vec::new();
        encode(encoding, samples, &mut bytes);
        assert_eq!(bytes.len(), samples.len() * encoding.bytes_per_sample());
        let mut back = Vec::new();
        decode(encoding, &bytes, &mut back);
        back
    }

    #[test]
    fn every_g711_byte_survives_decoding_and_encoding() {
        for encoding in [Encoding::MuLaw, Encoding::ALaw] {
            for byte in 0..=u8::MAX {
                let mut samples = Vec::new();
                decode(encoding, &[byte], &mut samples);
                let mut back = Vec::new();
                encode(encoding, &samples, &mut back);
                // Mu-law has two zeros, and the negative one comes back as the positive.
                let want = if encoding == Encoding::MuLaw && byte == 0x7F {
                    0xFF
                } else {
                    byte
                };
                assert_eq!(back, [want], "{encoding:?} {byte:#04x}");
            }
        }
    }

    #[test]
    fn known_bytes_have_their_itu_values() {
        let decoded = |encoding, bytes: &[u8]| {
            let mut samples = Vec::new();
            decode(encoding, bytes, &mut samples);
            samples
        };
        assert_eq!(
            decoded(Encoding::MuLaw, &[0x00, 0x80, 0x7F, 0xFF, 0x7E, 0xFE, 0x0F, 0x8F]),
            [-32124, 32124, 0, 0, -8, 8, -16764, 16764]
        );
        assert_eq!(
            decoded(Encoding::ALaw, &[0x55, 0xD5, 0x2A, 0xAA, 0x54, 0xD4]),
            [-8, 8, -32256, 32256, -24, 24]
        );
    }

    #[test]
    fn g711_encoding_is_monotonic_and_within_half_a_step_of_every_sample() {
        let samples: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        // Steps grow with the segment: 8 to 256 in mu-law (bias 132), 16 to 1024 in A-law on the 16-bit scale.
        for (encoding, bias, floor, clip) in [(Encoding::MuLaw, 132, 4, 32_635), (Encoding::ALaw, 0, 8, 32_767)] {
            let back = round_trip(encoding, &samples);
            assert!(back.is_sorted(), "{encoding:?}");
            for (&x, &y) in samples.iter().zip(&back) {
                let (x, y) = (i32::from(x), i32::from(y));
                let magnitude = x.abs().min(clip);
                let bound = ((magnitude + bias) / 32).max(floor) + (x.abs() - magnitude);
                assert!(
                    (x - y).abs() <= bound + 1,
                    "{encoding:?}: {x} became {y}, bound {bound}"
                );
            }
        }
    }

    #[test]
    fn silence_decodes_to_next_to_nothing() {
        for encoding in ALL {
            let mut samples = Vec::new();
            decode(
                encoding,
                &vec![silence(encoding); encoding.bytes_per_sample()],
                &mut samples,
            );
            assert!(samples[0].abs() <= 8, "{encoding:?}");
        }
    }

    #[test]
    fn half_a_linear_sample_is_ignored() {
        let mut samples = vec![7];
        decode(Encoding::Linear16, &[0x34, 0x12, 0xFF], &mut samples);
        assert_eq!(samples, [7, 0x1234]);
    }

    proptest! {
        #[test]
        fn linear16_loses_nothing(samples in proptest::collection::vec(any::<i16>(), 0..200)) {
            prop_assert_eq!(round_trip(Encoding::Linear16, &samples), samples);
        }

        #[test]
        fn a_second_passage_through_a_codec_changes_nothing(samples in proptest::collection::vec(any::<i16>(), 0..200)) {
            for encoding in ALL {
                let once = round_trip(encoding, &samples);
                prop_assert_eq!(&round_trip(encoding, &once), &once);
            }
        }
    }
}
