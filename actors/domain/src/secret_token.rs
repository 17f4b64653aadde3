//! Secrets of browser sessions and login links: 256 random bits. The store holds a SHA-256 of them.

use rand::RngCore;
use sha2::{Digest, Sha256};

/// Length of a secret in bytes.
const BYTES: usize = 32;

/// A secret in lower-case hex, 64 digits. Its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretToken(String);

/// SHA-256 of a secret, as stored.
pub type TokenHash = [u8; 32];

impl SecretToken {
    /// Creates a secret with the thread's cryptographic generator.
    pub fn random() -> Self {
        let mut bytes = [0; BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self(hex::encode(bytes))
    }

    /// Parses a secret; none if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let is_sound = text.len() == 2 * BYTES && text.bytes().all(is_digit);
        is_sound.then(|| Self(text.to_owned()))
    }

    /// Returns the text, for the cookie or link that carries it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the hash under which it is stored.
    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_and_nothing_like_it_is_one() {
        let token = SecretToken::random();
        let text = token.as_str();
        assert_eq!(SecretToken::parse(text), Some(token.clone()));
        assert_eq!(SecretToken::parse(text).unwrap().hash(), token.hash());
        assert_ne!(SecretToken::random().hash(), token.hash());
        assert!(!format!("{token:?}").contains(&text[..4]));
        for wrong in ["", &text[1..], &format!("{text}0"), &"A".repeat(64), &"g".repeat(64)] {
            assert_eq!(SecretToken::parse(wrong), None, "{wrong}");
        }
    }
}
