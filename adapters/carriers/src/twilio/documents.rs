//! Instructions that SignalWire fetches from us, since its API takes only their address. The address holds the
//! sealed text: nobody else can read or make one, it expires, and any node with the account's key answers it. Pure.
//!
//! Source: `specs/compatibility-api/calls/models/requests.tsp` of `signalwire/docs` at GitHub.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use domain::{ports::carrier::CarrierError, time::Clock};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Time for which an address is valid. A call may ring for 10 minutes before its instructions are fetched.
const VALID_SECONDS: i64 = 15 * 60;
/// Length of the time at the front of a sealed text.
const TIME_BYTES: usize = 8;

/// Sealer of instructions.
#[derive(Clone)]
pub struct Documents {
    key: [u8; 32],
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Documents(…)")
    }
}

impl Documents {
    /// Creates the sealer with a key that all nodes of the account have.
    pub fn new(key: [u8; 32], clock: Arc<dyn Clock>) -> Self {
        Self { key, clock }
    }

    fn key(&self) -> Option<LessSafeKey> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.key);
        key.ok().map(LessSafeKey::new)
    }

    fn now_seconds(&self) -> i64 {
        self.clock.now().unix_seconds()
    }

    /// Returns the last part of the address of these instructions.
    pub fn seal(&self, twiml: &str) -> Result<String, CarrierError> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut text = (self.now_seconds() + VALID_SECONDS).to_be_bytes().to_vec();
        text.extend_from_slice(twiml.as_bytes());
        let sealed = self.key().and_then(|key| {
            let nonce = Nonce::assume_unique_for_key(nonce);
            key.seal_in_place_append_tag(nonce, Aad::empty(), &mut text).ok()
        });
        sealed.ok_or_else(|| CarrierError::Protocol("instructions cannot be sealed".to_owned()))?;
        Ok(BASE64URL.encode([&nonce[..], &text].concat()))
    }

    /// Returns the instructions of an address. Returns `None` if we did not write it, or if it has expired.
    pub fn open(&self, sealed: &str) -> Option<String> {
        let mut sealed = BASE64URL.decode(sealed).ok()?;
        let (nonce, text) = sealed.split_first_chunk_mut::<NONCE_LEN>()?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text = self.key()?.open_in_place(nonce, Aad::empty(), text).ok()?;
        let (until, twiml) = text.split_first_chunk::<TIME_BYTES>()?;
        let is_valid = self.now_seconds() < i64::from_be_bytes(*until);
        is_valid.then(|| String::from_utf8(twiml.to_vec()).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::time::{Timestamp, TokioClock};
    use proptest::prelude::*;

    use super::*;

    fn documents(key: u8) -> Documents {
        let clock = TokioClock::starting_at(Timestamp(1_700_000_000_000_000));
        Documents::new([key; 32], Arc::new(clock))
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_answered_by_any_node_of_the_account_for_a_quarter_of_an_hour() {
        let (one, another, foreign) = (documents(1), documents(1), documents(2));
        let twiml = "<Response><Hangup/></Response>";
        let address = one.seal(twiml).unwrap();
        assert_ne!(one.seal(twiml).unwrap(), address, "no two are alike");
        assert!(address.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
        assert_eq!(another.open(&address).as_deref(), Some(twiml));
        assert_eq!(foreign.open(&address), None);
        tokio::time::advance(Duration::from_secs(15 * 60 - 1)).await;
        assert_eq!(one.open(&address).as_deref(), Some(twiml));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(one.open(&address), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_was_changed_anywhere_is_none() {
        let documents = documents(1);
        let address = documents.seal("<Response/>").unwrap();
        for at in 0..address.len() {
            let with = if address.as_bytes()[at] == b'A' { "B" } else { "A" };
            let mut changed = address.clone();
            changed.replace_range(at..=at, with);
            assert_eq!(documents.open(&changed), None, "{at}");
        }
        for wrong in ["", "A", "****", &address[..20], &format!("{address}AAAA")] {
            assert_eq!(documents.open(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(shown in "\\PC{0,80}") {
            let clock = domain::time::SystemClock;
            prop_assert_eq!(Documents::new([1; 32], Arc::new(clock)).open(&shown), None);
        }
    }
}
