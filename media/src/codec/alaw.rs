//! G.711 A-law, as in ITU-T G.191 (`alaw_compress`, `alaw_expand`) on the 16-bit scale.

/// Even bits are inverted on the line.
const TOGGLE: u8 = 0x55;

const DECODED: [i16; 256] = table();

const fn table() -> [i16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = expand(byte as u8);
        byte += 1;
    }
    table
}

const fn expand(byte: u8) -> i16 {
    let code = (byte ^ TOGGLE) & 0x7F;
    let exponent = code >> 4;
    let mantissa = (code & 0xF) as i16;
    let magnitude = if exponent == 0 {
        (mantissa << 4) + 8
    } else {
        (((mantissa + 16) << 4) + 8) << (exponent - 1)
    };
    if byte < 0x80 { -magnitude } else { magnitude }
}

fn compress(sample: i16) -> u8 {
    let (magnitude, sign) = if sample < 0 { (!sample, 0x00) } else { (sample, 0x80) };
    let level = magnitude.unsigned_abs() >> 4;
    let code = if level < 32 {
        // The two lowest segments have the same step, so the level is the code.
        level
    } else {
        // 32..=2047: the highest bit is at 5..=10; segments 2..=7.
        let segment = 12 - level.leading_zeros() as u16;
        (segment << 4) | ((level >> (segment - 1)) & 0xF)
    };
    (code as u8 | sign) ^ TOGGLE
}

pub(super) fn decode(bytes: &[u8], into: &mut Vec<i16>) {
    into.extend(bytes.iter().map(|&byte| DECODED[usize::from(byte)]));
}

pub(super) fn encode(samples: &[i16], into: &mut Vec<u8>) {
    into.extend(samples.iter().map(|&sample| compress(sample)));
}
