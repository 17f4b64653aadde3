//! G.711 mu-law, as in ITU-T G.191 (`ulaw_compress`, `ulaw_expand`) on the 16-bit scale.

/// Added to a magnitude before its segment is determined, on the 14-bit scale.
const BIAS: u16 = 33;

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
    let code = !byte;
    let exponent = (code >> 4) & 7;
    let mantissa = (code & 0xF) as i16;
    let step = 8i16 << exponent;
    let magnitude = (0x80 << exponent) + step * mantissa + step / 2 - 4 * BIAS as i16;
    if byte < 0x80 { -magnitude } else { magnitude }
}

fn compress(sample: i16) -> u8 {
    // One's complement for negatives, like the reference: -1 and 0 are then at the same distance from the middle.
    let (magnitude, sign) = if sample < 0 { (!sample, 0x00) } else { (sample, 0x80) };
    let biased = ((magnitude.unsigned_abs() >> 2) + BIAS).min(0x1FFF);
    // 33..=0x1FFF: the highest bit is at 5..=12 and determines the segment.
    let segment = 10 - biased.leading_zeros() as u16;
    let mantissa = (biased >> (segment + 1)) & 0xF;
    let code = ((segment << 4) | mantissa) as u8;
    (!code & 0x7F) | sign
}

pub(super) fn decode(bytes: &[u8], into: &mut Vec<i16>) {
    into.extend(bytes.iter().map(|&byte| DECODED[usize::from(byte)]));
}

pub(super) fn encode(samples: &[i16], into: &mut Vec<u8>) {
    into.extend(samples.iter().map(|&sample| compress(sample)));
}
