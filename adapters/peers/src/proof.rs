//! Proof that a request comes from another node: the seconds since 1970, a dot, and the HMAC-SHA256 of
//! method, path, seconds and body under the installation's secret, in hex. Free of I/O.

use std::fmt;

use ring::{digest, hmac};

/// Name of the header that carries the proof.
pub const HEADER: &str = "ringback-peer";
/// Name of the header with the `Host` that the client sent to the forwarding node.
pub(super) const HOST: &str = "ringback-host";
/// Largest age of a request, into the past or the future, in seconds. Clocks of nodes agree within seconds.
pub const FRESH_FOR_SECONDS: i64 = 30;

/// Parts of a request that are signed: method, path with query, and body.
pub type Signed<'a> = (&'a str, &'a str, &'a [u8]);

/// Reason why a header proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    /// The header is not seconds, a dot and 64 hex digits.
    #[error("malformed")]
    Malformed,
    /// The header was made too long ago or lies in the future.
    #[error("older than {FRESH_FOR_SECONDS} s or from the future")]
    Stale,
    /// The header belongs to another request, or was made with another secret.
    #[error("does not match")]
    Mismatch,
}

/// Content of the header before it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    seconds: i64,
    tag: Vec<u8>,
}

/// Makes and verifies the header.
#[derive(Clone)]
pub struct PeerKey(hmac::Key);

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerKey(…)")
    }
}

impl Claimed {
    /// Parses the header, so that bad requests can be rejected before their body is read.
    ///
    /// # Errors
    ///
    /// Returns an error if the header is malformed or not recent.
    pub fn read(header: &[u8], now_seconds: i64) -> Result<Self, Forged> {
        let text = std::str::from_utf8(header).map_err(|_| Forged::Malformed)?;
        let (seconds, tag) = text.split_once('.').ok_or(Forged::Malformed)?;
        let digits = (1..=12).contains(&seconds.len()) && seconds.bytes().all(|b| b.is_ascii_digit());
        let seconds = digits
            .then(|| seconds.parse().ok())
            .flatten()
            .ok_or(Forged::Malformed)?;
        let bytes = hex::decode(tag).ok().filter(|bytes| bytes.len() == 32);
        // Accept one spelling only.
        let tag = bytes.filter(|bytes| hex::encode(bytes) == tag);
        let tag = tag.ok_or(Forged::Malformed)?;
        if now_seconds.abs_diff(seconds) > FRESH_FOR_SECONDS.unsigned_abs() {
            return Err(Forged::Stale);
        }
        Ok(Self { seconds, tag })
    }
}

fn message((method, path, body): Signed<'_>, seconds: i64) -> String {
    let body = hex::encode(digest::digest(&digest::SHA256, body));
    // Neither a method nor a path contains a line break.
    format!("{method}\n{path}\n{seconds}\n{body}")
}

impl PeerKey {
    /// Creates the key from the installation's secret.
    pub fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// Returns the header for a request that is sent now.
    pub fn sign(&self, request: Signed<'_>, now_seconds: i64) -> String {
        let tag = hmac::sign(&self.0, message(request, now_seconds).as_bytes());
        format!("{now_seconds}.{}", hex::encode(tag))
    }

    /// Checks that a header belongs to a request. Takes the same time for every wrong header.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not.
    pub fn verify(&self, claimed: &Claimed, request: Signed<'_>) -> Result<(), Forged> {
        let message = message(request, claimed.seconds);
        hmac::verify(&self.0, message.as_bytes(), &claimed.tag).map_err(|_| Forged::Mismatch)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_767_225_600;
    const REQUEST: Signed<'static> = ("POST", "/carriers/x/status/a/b?c=1", b"{}");

    fn check(key: &PeerKey, header: &str, request: Signed<'_>, now: i64) -> Result<(), Forged> {
        key.verify(&Claimed::read(header.as_bytes(), now)?, request)
    }

    #[test]
    fn a_header_is_of_one_request_of_one_installation() {
        let key = PeerKey::new("secret");
        let header = key.sign(REQUEST, NOW);
        assert_eq!(check(&key, &header, REQUEST, NOW), Ok(()));
        let (method, path, body) = REQUEST;
        for other in [
            ("GET", path, body),
            (method, "/carriers/x/status/a/b", body),
            (method, path, b"{ }"),
        ] {
            assert_eq!(check(&key, &header, other, NOW), Err(Forged::Mismatch), "{other:?}");
        }
        assert_eq!(
            check(&PeerKey::new("other"), &header, REQUEST, NOW),
            Err(Forged::Mismatch)
        );
        let later = format!("{}{}", NOW + 1, &header[header.find('.').unwrap()..]);
        assert_eq!(check(&key, &later, REQUEST, NOW), Err(Forged::Mismatch));
        assert!(!format!("{key:?}").contains("secret"));
    }

    #[test]
    fn a_header_holds_for_half_a_minute() {
        let key = PeerKey::new("secret");
        let header = key.sign(REQUEST, NOW);
        for (by, held) in [(-31, false), (-30, true), (30, true), (31, false)] {
            let expected = if held { Ok(()) } else { Err(Forged::Stale) };
            assert_eq!(check(&key, &header, REQUEST, NOW + by), expected, "{by}");
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let tag = "0".repeat(64);
        for wrong in [
            String::new(),
            NOW.to_string(),
            format!("{NOW}."),
            format!(".{tag}"),
            format!("-{NOW}.{tag}"),
            format!("+{NOW}.{tag}"),
            format!("{NOW}.{}", &tag[2..]),
            format!("{NOW}.{tag}00"),
            format!("{NOW}.{}", "A".repeat(64)),
            format!("99999999999999999999.{tag}"),
        ] {
            assert_eq!(Claimed::read(wrong.as_bytes(), NOW), Err(Forged::Malformed), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_or_pass(header in proptest::collection::vec(any::<u8>(), 0..100), now in any::<i64>()) {
            if let Ok(claimed) = Claimed::read(&header, now) {
                prop_assert!(PeerKey::new("secret").verify(&claimed, REQUEST).is_err());
            }
        }
    }
}
