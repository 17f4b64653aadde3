//! API keys of the form `rb_<prefix>_<secret>_<checksum>`, all base62. The secret has 256 bits. The checksum
//! detects typing errors without a lookup. The store holds the prefix and a SHA-256 of the whole key.

use crate::ports::store::StoredApiKey;
use rand::{Rng, distr::Alphanumeric};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const MARK: &str = "rb";
const PREFIX_LENGTH: usize = 8;
/// 62^43 is more than 2^256.
const SECRET_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Generates a key. Returns the plain text, to be shown once, and the form that is stored.
pub fn generate_key() -> (String, StoredApiKey) {
    let body = format!("{MARK}_{}_{}", random(PREFIX_LENGTH), random(SECRET_LENGTH));
    let plain = format!("{body}_{}", checksum(&body));
    let stored = StoredApiKey {
        prefix: body[MARK.len() + 1..][..PREFIX_LENGTH].to_owned(),
        hash: hash(&plain),
    };
    (plain, stored)
}

/// A well-formed key with a correct checksum. Its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PlainKey(String);

impl PlainKey {
    /// Parses a key; none if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, sum) = text.rsplit_once('_')?;
        let mut parts = body.split('_');
        let (mark, prefix, secret) = (parts.next()?, parts.next()?, parts.next()?);
        let is_base62 = |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_alphanumeric());
        let sound = parts.next().is_none()
            && mark == MARK
            && is_base62(prefix, PREFIX_LENGTH)
            && is_base62(secret, SECRET_LENGTH)
            && sum == checksum(body);
        sound.then(|| Self(text.to_owned()))
    }

    /// Returns the part used to look it up.
    pub fn prefix(&self) -> &str {
        &self.0[MARK.len() + 1..][..PREFIX_LENGTH]
    }

    /// Returns a fingerprint that distinguishes it from other keys without its text.
    pub fn print(&self) -> [u8; 16] {
        let mut print = [0; 16];
        print.copy_from_slice(&hash(&self.0)[..16]);
        print
    }

    /// Returns whether `stored` belongs to this key; takes the same time for every answer.
    pub fn matches(&self, stored: &StoredApiKey) -> bool {
        hash(&self.0).ct_eq(&stored.hash).into()
    }
}

impl std::fmt::Debug for PlainKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlainKey(rb_{}_…)", self.prefix())
    }
}

fn random(length: usize) -> String {
    rand::rng()
        .sample_iter(Alphanumeric)
        .take(length)
        .map(char::from)
        .collect()
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Returns the CRC-32 in six base62 digits, the lowest first.
fn checksum(text: &str) -> String {
    let mut rest = CRC.checksum(text.as_bytes()) as usize;
    (0..CHECKSUM_LENGTH)
        .map(|_| {
            let digit = BASE62[rest % BASE62.len()];
            rest /= BASE62.len();
            char::from(digit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_read_back_and_matches_only_itself() {
        let (plain, stored) = generate_key();
        let (other, other_stored) = generate_key();
        let key = PlainKey::parse(&plain).unwrap();
        assert_eq!(key.prefix(), stored.prefix);
        assert!(key.matches(&stored));
        assert!(!key.matches(&other_stored));
        assert_ne!(plain, other);
        assert!(!format!("{key:?}").contains(&plain[12..]));
    }

    #[test]
    fn a_typo_is_no_key() {
        let (plain, _) = generate_key();
        for at in 0..plain.len() {
            let mut typo = plain.clone().into_bytes();
            typo[at] = if typo[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(PlainKey::parse(&String::from_utf8(typo).unwrap()), None, "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = PlainKey::parse(&text);
            let _ = PlainKey::parse(&format!("rb_{text}_x_y"));
        }
    }
}
