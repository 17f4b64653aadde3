//! The secret of one dial permit, and the proofs derived from it for the carrier's URLs.

use hmac::{Hmac, Mac};
use rand::RngCore;
use sha2::Sha256;

/// Purpose of a proof; a proof for one purpose is invalid for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// URL of a status callback.
    Status,
    /// URL of a media socket.
    Media,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Status => b"status",
            Self::Media => b"media",
        }
    }
}

/// 256 random bits in lower-case hex, new with every permit. The token never leaves the store and the call;
/// URLs contain an HMAC-SHA256 of their purpose with this token as the key.
#[derive(Clone, PartialEq, Eq)]
pub struct DialToken(String);

impl std::fmt::Debug for DialToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DialToken(…)")
    }
}

impl DialToken {
    /// Creates a token with the thread's cryptographic generator.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        rand::rng().fill_bytes(&mut bytes);
        Self(hex::encode(bytes))
    }

    /// Creates a token from its stored form.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the stored form.
    pub fn as_stored(&self) -> &str {
        &self.0
    }

    fn mac(&self, purpose: Purpose) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(purpose.label());
        Some(mac)
    }

    /// Returns the proof for a URL: 64 hex digits.
    pub fn proof(&self, purpose: Purpose) -> String {
        self.mac(purpose)
            .map(|mac| hex::encode(mac.finalize().into_bytes()))
            .unwrap_or_default()
    }

    /// Returns whether `proof` is this token's proof for `purpose`; takes the same time for every wrong one.
    pub fn verify(&self, purpose: Purpose, proof: &str) -> bool {
        match (self.mac(purpose), hex::decode(proof)) {
            (Some(mac), Ok(bytes)) => mac.verify_slice(&bytes).is_ok(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_token_and_purpose_only() {
        let token = DialToken::random();
        let proof = token.proof(Purpose::Media);
        assert_eq!(proof.len(), 64);
        assert!(token.verify(Purpose::Media, &proof));
        assert!(!token.verify(Purpose::Status, &proof));
        assert!(!DialToken::random().verify(Purpose::Media, &proof));
        for bad in ["", "zz", "é", &proof[..63], &format!("{proof}00")] {
            assert!(!token.verify(Purpose::Media, bad), "{bad}");
        }
    }
}
