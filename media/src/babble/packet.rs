//! Packets: splits a text into packets, and converts packets to vowels and back.

use crc::{Algorithm, Crc, Table};

/// Most bytes in a packet that is sent.
pub(super) const LONGEST: usize = 12;
/// Vowels of the CRC: 18 bits.
pub(super) const CRC_VOWELS: usize = 3;

/// An 18-bit CRC. It detects every burst of three neighbouring vowels, and passes one in 65,000 fully garbled packets.
const CRC_18: Algorithm<u32> = Algorithm {
    width: 18,
    poly: 0x0_72F3,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0,
    residue: 0,
};

static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_18);

/// Position of a packet in its utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) first: bool,
    pub(super) last: bool,
}

impl Place {
    const ALL: [Self; 4] = [
        Self {
            first: false,
            last: false,
        },
        Self {
            first: false,
            last: true,
        },
        Self {
            first: true,
            last: false,
        },
        Self {
            first: true,
            last: true,
        },
    ];

    /// Returns the start value of the CRC, which encodes the place without a sound of its own.
    fn start_value(self) -> u32 {
        match (self.first, self.last) {
            (false, false) => 0x0_5A5A,
            (false, true) => 0x1_A3C7,
            (true, false) => 0x2_6D1E,
            (true, true) => 0x3_94B1,
        }
    }
}

/// The header: length 1 to 15 in the upper four bits, sequence number modulo 4 in the lower two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: usize,
    pub(super) sequence: u8,
}

impl Header {
    fn vowel(self) -> u8 {
        (self.length as u8) << 2 | self.sequence
    }

    /// Decodes a header from a vowel. Returns `None` for a length of 0.
    pub(super) fn from_vowel(vowel: u8) -> Option<Self> {
        let length = usize::from(vowel >> 2);
        (length > 0).then_some(Self {
            length,
            sequence: vowel & 3,
        })
    }

    /// Returns the number of vowels that carry the bytes.
    pub(super) fn payload_vowels(self) -> usize {
        (self.length * 8).div_ceil(6)
    }
}

fn checksum(header: Header, bytes: &[u8], place: Place) -> u32 {
    let mut digest = CRC.digest_with_initial(place.start_value());
    digest.update(&[header.vowel()]);
    digest.update(bytes);
    digest.finalize()
}

/// Encodes a packet as vowels: header, bytes, CRC. `bytes` holds 1 to 15 bytes.
pub(super) fn to_vowels(sequence: u8, bytes: &[u8], place: Place) -> Vec<u8> {
    let header = Header {
        length: bytes.len(),
        sequence: sequence & 3,
    };
    let mut vowels = vec![header.vowel()];
    vowels.extend(bytes.chunks(3).flat_map(|three| {
        let bits = three.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        let used = (three.len() * 8).div_ceil(6);
        (0..used).map(move |n| (bits >> (18 - 6 * n)) as u8 & 63)
    }));
    let crc = checksum(header, bytes, place);
    vowels.extend((0..CRC_VOWELS).map(|n| (crc >> (12 - 6 * n)) as u8 & 63));
    vowels
}

/// Returns the whole bytes in the vowels of a payload that may still be growing.
pub(super) fn bytes_of(vowels: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(vowels.len() * 6 / 8);
    let (mut bits, mut count) = (0u32, 0);
    for &vowel in vowels {
        bits = bits << 6 | u32::from(vowel);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Checks the vowels after the header. Returns the text and the place, or `None` if anything is wrong.
pub(super) fn verify(header: Header, vowels: &[u8]) -> Option<(String, Place)> {
    let (payload, crc) = vowels.split_at_checked(header.payload_vowels())?;
    if crc.len() != CRC_VOWELS {
        return None;
    }
    let bytes = bytes_of(payload);
    let bytes = bytes.get(..header.length)?;
    let sent = crc.iter().fold(0, |bits, &vowel| bits << 6 | u32::from(vowel));
    let place = Place::ALL
        .into_iter()
        .find(|&place| checksum(header, bytes, place) == sent)?;
    // The bits after the last byte are zero, and an utterance starts with sequence 0.
    if to_vowels(header.sequence, bytes, place)[1..] != *vowels || (place.first && header.sequence != 0) {
        return None;
    }
    Some((std::str::from_utf8(bytes).ok()?.to_owned(), place))
}

/// Splits a text into packets: after the last space that fits, otherwise after the last character that fits.
/// The pieces follow each other without a gap.
pub(super) fn cut(text: &str) -> Vec<&str> {
    let mut packets = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let fits = rest.floor_char_boundary(LONGEST);
        let at = if fits == rest.len() {
            fits
        } else {
            rest[..fits].rfind(' ').map_or(fits, |space| space + 1)
        };
        let (packet, later) = rest.split_at(at);
        packets.push(packet);
        rest = later;
    }
    packets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_break_after_spaces_and_never_inside_a_character() {
        assert_eq!(cut("Hello, could you help?"), ["Hello, ", "could you ", "help?"]);
        assert_eq!(cut("Donaudampfschiff ahoi"), ["Donaudampfsc", "hiff ahoi"]);
        assert_eq!(cut("日本語日本語"), ["日本語日", "本語"]);
        assert_eq!(cut(""), [""; 0]);
    }

    #[test]
    fn a_burst_of_three_vowels_never_passes_at_the_same_place() {
        let place = Place {
            first: false,
            last: false,
        };
        let vowels = to_vowels(1, b"twelve bytes", place);
        let header = Header::from_vowel(vowels[0]).unwrap();
        for at in 1..vowels.len() {
            for flip in 1..64u8 {
                let mut wrong = vowels.clone();
                wrong[at] ^= flip;
                if let Some(other) = wrong.get_mut(at + 1) {
                    *other ^= flip.rotate_left(3) & 63;
                }
                assert!(verify(header, &wrong[1..]).is_none_or(|(_, found)| found != place));
            }
        }
    }

    proptest! {
        #[test]
        fn a_packet_comes_back_with_its_place(text in "\\PC{1,4}", sequence in 0u8..4, first: bool, last: bool) {
            prop_assume!(text.len() <= 15);
            let sequence = if first { 0 } else { sequence };
            let place = Place { first, last };
            let vowels = to_vowels(sequence, text.as_bytes(), place);
            let header = Header::from_vowel(vowels[0]).unwrap();
            prop_assert_eq!(header, Header { length: text.len(), sequence });
            prop_assert_eq!(vowels.len(), 1 + header.payload_vowels() + CRC_VOWELS);
            prop_assert_eq!(verify(header, &vowels[1..]), Some((text, place)));
        }

        #[test]
        fn the_pieces_of_a_text_are_the_text(text in "\\PC{0,60}") {
            let packets = cut(&text);
            prop_assert_eq!(packets.concat(), text.as_str());
            prop_assert!(packets.iter().all(|packet| (1..=LONGEST).contains(&packet.len())));
        }
    }
}
