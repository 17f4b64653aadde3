//! Linear 16-bit, little-endian.

pub(super) fn decode(bytes: &[u8], into: &mut Vec<i16>) {
    let (whole, _half) = bytes.as_chunks::<2>();
    into.extend(whole.iter().map(|&pair| i16::from_le_bytes(pair)));
}

pub(super) fn encode(samples: &[i16], into: &mut Vec<u8>) {
    into.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
}
