//! Telnyx's webhook signature: Ed25519 over `{timestamp}|{body}`, with the account's key. Pure.
//!
//! The signature covers neither address nor method. The proof in the address and the `client_state` in the
//! body show that a webhook is for the call in its address.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ring::signature::{ED25519, UnparsedPublicKey};

/// Header with the signature, 64 bytes in base64.
pub const SIGNATURE_HEADER: &str = "telnyx-signature-ed25519";
/// Header with the time of signing, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "telnyx-timestamp";
/// Maximum age of a signature, also in the future. Telnyx's own libraries use the same limit.
pub const WINDOW_SECONDS: u64 = 300;

const KEY_BYTES: usize = 32;

/// Public key of an account's webhook signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookKey([u8; KEY_BYTES]);

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WebhookKey({})", BASE64.encode(self.0))
    }
}

/// An invalid public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a Telnyx public key: use the {KEY_BYTES} bytes in base64 that its portal shows")]
pub struct NotAKey;

/// Reason why a webhook is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SignatureError {
    #[error("no `{0}` header")]
    Missing(&'static str),
    #[error("`{TIMESTAMP_HEADER}` is not a number of seconds since 1970")]
    Timestamp,
    #[error("signed more than {WINDOW_SECONDS} s before or after now")]
    Stale,
    #[error("`{SIGNATURE_HEADER}` is not base64")]
    Encoding,
    #[error("signature does not match")]
    Forged,
}

impl WebhookKey {
    /// Parses the key as Telnyx's portal shows it.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let bytes = BASE64.decode(text.trim()).map_err(|_| NotAKey)?;
        Ok(Self(bytes.try_into().map_err(|_| NotAKey)?))
    }

    /// Verifies the signature and age of a webhook's body. `header` returns the value of a request header;
    /// `now_seconds` counts from 1970.
    pub fn verify<'a>(
        &self,
        header: impl Fn(&'static str) -> Option<&'a str>,
        body: &[u8],
        now_seconds: i64,
    ) -> Result<(), SignatureError> {
        let of = |name| header(name).ok_or(SignatureError::Missing(name));
        let (signature, timestamp) = (of(SIGNATURE_HEADER)?, of(TIMESTAMP_HEADER)?);
        let signed_at: i64 = timestamp.parse().map_err(|_| SignatureError::Timestamp)?;
        if now_seconds.abs_diff(signed_at) > WINDOW_SECONDS {
            return Err(SignatureError::Stale);
        }
        let signature = BASE64.decode(signature).map_err(|_| SignatureError::Encoding)?;
        let message = [timestamp.as_bytes(), b"|", body].concat();
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(&message, &signature)
            .map_err(|_| SignatureError::Forged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
    const BODY: &str = r#"{"data":{"event_type":"call.initiated"}}"#;
    const TIMESTAMP: &str = "1700000000";
    const SIGNATURE: &str = "aBuTQ1AtxQGraK6PrtJP6VW9Mu+R2aG6TbxS7lim9/ia8dN94a42JYoTifASA18z3xe+GLlYfveWOuyyKq7OCw==";
    const NOW: i64 = 1_700_000_000;

    fn verify(signature: &str, timestamp: &str, body: &[u8], now: i64) -> Result<(), SignatureError> {
        let header = |name| match name {
            SIGNATURE_HEADER => Some(signature),
            TIMESTAMP_HEADER => Some(timestamp),
            _ => None,
        };
        WebhookKey::parse(KEY).unwrap().verify(header, body, now)
    }

    #[test]
    fn a_signature_of_telnyx_is_taken_within_its_window() {
        for now in [NOW, NOW - 300, NOW + 300] {
            assert_eq!(verify(SIGNATURE, TIMESTAMP, BODY.as_bytes(), now), Ok(()));
        }
        for now in [NOW - 301, NOW + 301, i64::MIN, i64::MAX] {
            let answer = verify(SIGNATURE, TIMESTAMP, BODY.as_bytes(), now);
            assert_eq!(answer, Err(SignatureError::Stale));
        }
    }

    #[test]
    fn a_changed_time_is_refused_even_when_it_says_the_same() {
        for (timestamp, error) in [
            ("1700000001", SignatureError::Forged),
            ("01700000000", SignatureError::Forged),
            ("+1700000000", SignatureError::Forged),
            ("1700000000 ", SignatureError::Timestamp),
            ("", SignatureError::Timestamp),
            ("soon", SignatureError::Timestamp),
            ("99999999999999999999", SignatureError::Timestamp),
            ("-9223372036854775808", SignatureError::Stale),
        ] {
            let answer = verify(SIGNATURE, timestamp, BODY.as_bytes(), NOW);
            assert_eq!(answer, Err(error), "{timestamp:?}");
        }
    }

    #[test]
    fn a_missing_or_damaged_header_is_named() {
        let key = WebhookKey::parse(KEY).unwrap();
        for present in [SIGNATURE_HEADER, TIMESTAMP_HEADER] {
            let header = |name| (name == present).then_some(TIMESTAMP);
            let missing = [TIMESTAMP_HEADER, SIGNATURE_HEADER][usize::from(present == TIMESTAMP_HEADER)];
            let answer = key.verify(header, BODY.as_bytes(), NOW);
            assert_eq!(answer, Err(SignatureError::Missing(missing)));
        }
        for (signature, error) in [
            ("", SignatureError::Forged),
            ("f/+A", SignatureError::Forged),
            ("****", SignatureError::Encoding),
            (&SIGNATURE[..86], SignatureError::Encoding),
        ] {
            assert_eq!(verify(signature, TIMESTAMP, BODY.as_bytes(), NOW), Err(error));
        }
    }

    #[test]
    fn another_key_takes_nothing_and_what_is_no_key_is_refused() {
        let other = WebhookKey::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        let header = |name| Some(if name == TIMESTAMP_HEADER { TIMESTAMP } else { SIGNATURE });
        assert_eq!(other.verify(header, BODY.as_bytes(), NOW), Err(SignatureError::Forged));
        for text in ["", "f/+A", "not base64!", &KEY[..40], &format!("{KEY}AAAA")] {
            assert_eq!(WebhookKey::parse(text), Err(NotAKey), "{text}");
        }
    }

    proptest! {
        #[test]
        fn one_changed_bit_of_body_or_signature_is_noticed(at in 0..40_usize, bit in 0..8_u32, in_signature in any::<bool>()) {
            let (mut body, mut signature) = (BODY.as_bytes().to_vec(), BASE64.decode(SIGNATURE).unwrap());
            let bytes = if in_signature { &mut signature } else { &mut body };
            bytes[at] ^= 1 << bit;
            let answer = verify(&BASE64.encode(signature), TIMESTAMP, &body, NOW);
            prop_assert_eq!(answer, Err(SignatureError::Forged));
        }

        #[test]
        fn no_header_makes_it_panic(signature in "\\PC{0,100}", timestamp in "\\PC{0,30}", now in any::<i64>()) {
            prop_assert!(verify(&signature, &timestamp, BODY.as_bytes(), now).is_err());
        }
    }
}
