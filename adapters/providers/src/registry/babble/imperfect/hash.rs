//! Hashes that draw the delays and errors. Pure.

/// Mixes a value into a hash (the finaliser of splitmix64).
pub(super) fn mixed(hash: u64, value: u64) -> u64 {
    let mut mixed = (hash ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Mixes a text into a hash.
pub(super) fn mixed_text(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| mixed(hash, u64::from(byte)))
}

/// Maps a hash to a share from 0 to 1.
pub(super) fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}
