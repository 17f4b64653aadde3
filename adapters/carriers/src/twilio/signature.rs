//! Signatures of Twilio and SignalWire. They are an HMAC over the requested address and the form. For JSON,
//! Twilio signs an address that contains the body's hash, and SignalWire signs address and body. The address
//! is rebuilt from the configured public URL, because a `Host` header can contain anything. Pure.
//!
//! Sources: <https://www.twilio.com/docs/usage/security>, and `request_validator.py` of twilio-python 9.13.0 and of
//! signalwire 2.1.1.

use axum::http::HeaderMap;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, Mac, digest::KeyInit};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::{
    account::{Flavour, TwilioAccount},
    fields::is_json,
    instructions::ASKS_AGAIN,
};
use crate::http::socket_address;
use net::key::Key;

/// Header that names key and algorithm of a webhook that is not signed with the auth token.
const SETTINGS: &str = "x-twilio-webhooks-signature-settings";

/// Verifier of requests for one account.
#[derive(Debug, Clone)]
pub struct Guard {
    flavour: Flavour,
    key: Key,
    shared_key: Option<Key>,
    /// Public URL, once for each way to write its port.
    public: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Algorithm {
    Sha1,
    Sha256,
}

impl Guard {
    /// Creates the guard from the account's keys. `public` is the service's URL without a trailing slash.
    pub fn new(account: &TwilioAccount, public: &str) -> Self {
        Self {
            flavour: account.flavour,
            key: account.signing_key.clone(),
            shared_key: account.shared_key.clone(),
            public: ways_to_write(public),
        }
    }

    /// Returns whether a request posted to `path`, including its query, comes from the carrier.
    pub fn admits(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> bool {
        match (is_json(headers), self.flavour) {
            (false, _) => self.admits_form(path, headers, body),
            (true, Flavour::Twilio) => holds_hash(path, body) && self.admits_form(path, headers, &[]),
            (true, Flavour::SignalWire) => self.admits_signed_json(path, headers, body),
        }
    }

    /// SignalWire writes the signature of JSON in hexadecimal digits.
    fn admits_signed_json(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> bool {
        let shown = headers.get(self.header()).and_then(|value| value.to_str().ok());
        let Some(shown) = shown.and_then(|shown| hex::decode(shown).ok()) else {
            return false;
        };
        self.public.iter().any(|public| {
            let mac = keyed::<Hmac<Sha1>>(&self.key).chain_update(format!("{public}{path}"));
            mac.chain_update(body).verify_slice(&shown).is_ok()
        })
    }

    fn header(&self) -> &'static str {
        match self.flavour {
            Flavour::Twilio => "x-twilio-signature",
            Flavour::SignalWire => "x-signalwire-signature",
        }
    }

    /// Returns whether a form posted to `path` comes from the carrier.
    fn admits_form(&self, path: &str, headers: &HeaderMap, form: &[u8]) -> bool {
        let fields = sorted_fields(form);
        // The carrier does not document whether it signs the fragment of an address.
        let kept: &[&str] = match self.flavour {
            Flavour::Twilio => &["", ASKS_AGAIN],
            Flavour::SignalWire => &[""],
        };
        let signed = |public: &String, kept: &str| self.signed(headers, &format!("{public}{path}{kept}{fields}"));
        self.public
            .iter()
            .any(|public| kept.iter().any(|kept| signed(public, kept)))
    }

    /// Returns whether a WebSocket to be opened at `path` comes from the carrier.
    pub fn admits_socket(&self, path: &str, headers: &HeaderMap) -> bool {
        match self.flavour {
            Flavour::Twilio => self.public.iter().any(|public| {
                let address = format!("{}{path}", socket_address(public));
                self.signed(headers, &address)
            }),
            Flavour::SignalWire => self.has_bearer(path, headers),
        }
    }

    /// Returns the header by which the carrier signs an empty form posted to `address`: its name and value.
    pub fn signature_of(&self, address: &str) -> (&'static str, String) {
        let mac = keyed::<Hmac<Sha1>>(&self.key).chain_update(address);
        (self.header(), BASE64.encode(mac.finalize().into_bytes()))
    }

    /// Returns the token that SignalWire presents when it opens the socket at `path`. It does not sign that
    /// request, but sends a token from the instructions.
    pub fn bearer(&self, path: &str) -> String {
        let mac = keyed::<Hmac<Sha256>>(&self.key).chain_update(path);
        BASE64.encode(mac.finalize().into_bytes())
    }

    /// Returns the key that seals the documents which SignalWire fetches.
    pub fn document_key(&self) -> [u8; 32] {
        let mac = keyed::<Hmac<Sha256>>(&self.key).chain_update("sealed documents");
        mac.finalize().into_bytes().into()
    }

    fn has_bearer(&self, path: &str, headers: &HeaderMap) -> bool {
        let shown = headers.get("authorization").and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| BASE64.decode(value.strip_prefix("Bearer ")?).ok());
        let mac = keyed::<Hmac<Sha256>>(&self.key).chain_update(path);
        shown.is_some_and(|shown| mac.verify_slice(&shown).is_ok())
    }

    fn signed(&self, headers: &HeaderMap, message: &str) -> bool {
        let signature = headers.get(self.header()).and_then(|value| BASE64.decode(value).ok());
        let (Some(signature), Some((key, algorithm))) = (signature, self.key_of(headers)) else {
            return false;
        };
        // Both compare in constant time.
        match algorithm {
            Algorithm::Sha1 => verifies(keyed::<Hmac<Sha1>>(key), message, &signature),
            Algorithm::Sha256 => verifies(keyed::<Hmac<Sha256>>(key), message, &signature),
        }
    }

    /// Returns the key and algorithm that a request names, or `None` if they are unknown or not ours.
    fn key_of(&self, headers: &HeaderMap) -> Option<(&Key, Algorithm)> {
        let settings = match self.flavour {
            Flavour::Twilio => headers.get(SETTINGS),
            Flavour::SignalWire => None,
        };
        let Some(settings) = settings else {
            return Some((&self.key, Algorithm::Sha1));
        };
        let mut parts = settings.to_str().ok()?.split(',').map(str::trim);
        let algorithm = match parts.find_map(|part| part.strip_prefix("algorithm="))? {
            "HMAC_SHA1" => Algorithm::Sha1,
            "HMAC_SHA256" => Algorithm::Sha256,
            _ => return None,
        };
        Some((self.shared_key.as_ref()?, algorithm))
    }
}

fn keyed<M: Mac + KeyInit>(key: &Key) -> M {
    // An HMAC accepts a key of any length.
    <M as Mac>::new_from_slice(key.secret().as_bytes()).unwrap_or_else(|_| <M as Mac>::new(&Default::default()))
}

fn verifies<M: Mac>(mac: M, message: &str, signature: &[u8]) -> bool {
    mac.chain_update(message).verify_slice(signature).is_ok()
}

/// Concatenates the names and values of a form's fields, sorted by name and without separators. If a name is
/// repeated, each distinct value appears once, in order.
fn sorted_fields(form: &[u8]) -> String {
    let mut fields: Vec<_> = url::form_urlencoded::parse(form).collect();
    fields.sort();
    fields.dedup();
    fields.iter().flat_map(|(name, value)| [&**name, &**value]).collect()
}

/// Returns whether an address contains the SHA-256 of this body.
fn holds_hash(path: &str, body: &[u8]) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let told = fields.find(|(name, _)| name == "bodySHA256");
    // The hash is not secret, so the comparison need not take constant time.
    told.and_then(|(_, told)| hex::decode(&*told).ok())
        .is_some_and(|told| told[..] == Sha256::digest(body)[..])
}

/// Returns an address as it is, and with or without its default port: Twilio signs either.
fn ways_to_write(public: &str) -> Vec<String> {
    let mut ways = vec![public.to_owned()];
    let Some((scheme, rest)) = public.split_once("://") else {
        return ways;
    };
    let port = if scheme == "https" { ":443" } else { ":80" };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let ends_in_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    match authority.strip_suffix(port) {
        Some(bare) => ways.push(format!("{scheme}://{bare}{path}")),
        None if !ends_in_port => ways.push(format!("{scheme}://{authority}{port}{path}")),
        None => {}
    }
    ways
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATH: &str = "/voice/status?tenant=7";
    const FORM: &str = "Digits=&CallSid=CA1234567890ABCDE&To=%2B14155550199&From=%2B14155550100&CallStatus=completed";
    const SIGNATURE: &str = "XDLeLhpus51zBR7iDDWnIyWtWNg=";
    const SHARED: &str = "899h9EAeMAonVpo8YTP2c+FQSSlw80VvdYGb7l50YW8=";

    fn guard(flavour: Flavour, key: &str, public: &str) -> Guard {
        let account = TwilioAccount {
            flavour,
            base_url: "https://api".into(),
            account: "AC1".into(),
            user: "AC1".into(),
            password: Key::new("x"),
            signing_key: Key::new(key),
            shared_key: Some(Key::new("12345")),
            from: None,
        };
        Guard::new(&account, public)
    }

    fn twilio() -> Guard {
        guard(Flavour::Twilio, "12345", "https://example.com")
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn signed(signature: &str) -> HeaderMap {
        headers(&[("x-twilio-signature", signature)])
    }

    #[test]
    fn json_is_signed_with_its_hash_or_whole() {
        let path = "/hook?bodySHA256=015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        let sent = |signature: &'static str| {
            headers(&[("content-type", "application/json"), ("x-twilio-signature", signature)])
        };
        let sound = sent("2e7mH/NA6FwzvUqLZxhsETU/4bw=");
        assert!(twilio().admits(path, &sound, br#"{"a":1}"#));
        assert!(!twilio().admits(path, &sound, br#"{"a":2}"#));
        assert!(!twilio().admits("/hook", &sound, br#"{"a":1}"#));
        // A valid signature of an address without a hash says nothing about the body.
        assert!(!twilio().admits("/hook", &sent("JuPavG0Zweu3T+LUwMO9lxmVvgY="), b"{}"));
        let signalwire = guard(Flavour::SignalWire, "PSK_test", "https://example.com");
        let whole = headers(&[
            ("content-type", "application/json"),
            ("x-signalwire-signature", "75215cca711ecc1e66f20599db34817a6dbd2c72"),
        ]);
        assert!(signalwire.admits("/sw/status", &whole, br#"{"call":"c1"}"#));
        assert!(!signalwire.admits("/sw/status", &whole, br#"{"call":"c2"}"#));
        assert!(!signalwire.admits("/sw/other", &whole, br#"{"call":"c1"}"#));
    }

    #[test]
    fn twilio_s_own_signatures_hold() {
        assert!(twilio().admits_form(PATH, &signed(SIGNATURE), FORM.as_bytes()));
        let socket = signed("xqippnOutTTBC6q9RP3Gqw5xlKA=");
        assert!(twilio().admits_socket("/media/twilio/abc", &socket));
        let shared = headers(&[
            ("x-twilio-signature", SHARED),
            (SETTINGS, "key=k,algorithm=HMAC_SHA256"),
        ]);
        assert!(twilio().admits_form(PATH, &shared, FORM.as_bytes()));
    }

    #[test]
    fn signalwire_s_own_signature_holds() {
        let guard = guard(Flavour::SignalWire, "PSK_test", "https://example.com");
        let form = b"CallSid=c1&CallStatus=ringing";
        let signature = "B8zs6WIaJPwao5DojM6F8oYMo1c=";
        let shown = headers(&[("x-signalwire-signature", signature)]);
        assert!(guard.admits_form("/sw/status", &shown, form));
        assert!(
            !guard.admits_form("/sw/status", &signed(signature), form),
            "another's header"
        );
        assert!(!guard.admits_form("/sw/status", &shown, b"CallSid=c1&CallStatus=busy"));
    }

    #[test]
    fn the_port_that_goes_without_saying_may_be_said() {
        for public in ["https://example.com", "https://example.com:443"] {
            let guard = guard(Flavour::Twilio, "12345", public);
            assert!(guard.admits_form(PATH, &signed(SIGNATURE), FORM.as_bytes()), "{public}");
        }
        assert_eq!(ways_to_write("http://[::1]/x"), ["http://[::1]/x", "http://[::1]:80/x"]);
        assert_eq!(ways_to_write("https://a:8443"), ["https://a:8443"]);
    }

    #[test]
    fn nothing_else_is_admitted() {
        let sound = signed(SIGNATURE);
        let elsewhere = guard(Flavour::Twilio, "12345", "https://example.org");
        let plain = guard(Flavour::Twilio, "12345", "http://example.com");
        let another_key = guard(Flavour::Twilio, "12346", "https://example.com");
        for guard in [elsewhere, plain, another_key] {
            assert!(!guard.admits_form(PATH, &sound, FORM.as_bytes()));
        }
        for (path, form) in [
            ("/voice/status?tenant=8", FORM),
            ("/voice/status", FORM),
            (PATH, ""),
            (PATH, &FORM.replace("completed", "busy")),
            (PATH, &format!("{FORM}&More=1")),
            (PATH, &FORM.replace("&To=", "&to=")),
        ] {
            assert!(!twilio().admits_form(path, &sound, form.as_bytes()), "{path} {form}");
        }
        for bad in [
            "",
            "XDLeLhpus51zBR7iDDWnIyWtWNg",
            "YDLeLhpus51zBR7iDDWnIyWtWNg=",
            "?",
            SHARED,
        ] {
            assert!(!twilio().admits_form(PATH, &signed(bad), FORM.as_bytes()), "{bad}");
        }
        assert!(!twilio().admits_form(PATH, &HeaderMap::new(), FORM.as_bytes()));
        assert!(!twilio().admits_socket("/media/twilio/abd", &signed("xqippnOutTTBC6q9RP3Gqw5xlKA=")));
        assert!(!twilio().admits_socket("/media/twilio/abc", &HeaderMap::new()));
    }

    #[test]
    fn an_algorithm_nobody_knows_or_a_key_nobody_has_is_refused() {
        for settings in ["key=k,algorithm=NONE", "key=k", "", "algorithm=HMAC_SHA1"] {
            let shown = headers(&[("x-twilio-signature", SHARED), (SETTINGS, settings)]);
            assert!(!twilio().admits_form(PATH, &shown, FORM.as_bytes()), "{settings}");
        }
        let without = Guard {
            shared_key: None,
            ..twilio()
        };
        let shown = headers(&[
            ("x-twilio-signature", SHARED),
            (SETTINGS, "key=k,algorithm=HMAC_SHA256"),
        ]);
        assert!(!without.admits_form(PATH, &shown, FORM.as_bytes()));
    }

    #[test]
    fn signalwire_s_socket_shows_the_token_of_its_instructions() {
        let guard = guard(Flavour::SignalWire, "PSK_test", "https://example.com");
        let token = guard.bearer("/carriers/signalwire/media/x");
        let shown = headers(&[("authorization", &format!("Bearer {token}"))]);
        assert!(guard.admits_socket("/carriers/signalwire/media/x", &shown));
        assert!(!guard.admits_socket("/carriers/signalwire/media/y", &shown));
        assert!(!guard.admits_socket("/carriers/signalwire/media/x", &HeaderMap::new()));
        assert!(!guard.admits_socket("/carriers/signalwire/media/x", &headers(&[("authorization", &token)])));
    }

    #[test]
    fn a_name_that_comes_twice_counts_each_value_once_in_order() {
        assert_eq!(sorted_fields(b"b=2&a=x&b=1&b=2&c"), "axb1b2c");
        assert_eq!(sorted_fields(b"a=x+y%2B"), "ax y+");
    }

    proptest! {
        #[test]
        fn one_changed_byte_is_noticed(at in 0..FORM.len(), to in any::<u8>()) {
            let mut form = FORM.as_bytes().to_vec();
            form[at] = to;
            let same = sorted_fields(&form) == sorted_fields(FORM.as_bytes());
            prop_assert_eq!(twilio().admits_form(PATH, &signed(SIGNATURE), &form), same);
        }

        #[test]
        fn nothing_makes_the_guard_panic(
            path in "\\PC{0,40}",
            form in proptest::collection::vec(any::<u8>(), 0..80),
            signature in "[ -~]{0,60}",
            settings in "[ -~]{0,60}",
        ) {
            let shown = headers(&[("x-twilio-signature", &signature), (SETTINGS, &settings)]);
            prop_assert!(!twilio().admits_form(&path, &shown, &form));
            prop_assert!(!twilio().admits_socket(&path, &signed(&signature)));
            let json = headers(&[("content-type", "application/json"), ("x-twilio-signature", &signature)]);
            let address = format!("/{path}?bodySHA256={signature}");
            prop_assert!(!twilio().admits(&address, &json, &form));
            let json = headers(&[("content-type", "application/json"), ("x-signalwire-signature", &signature)]);
            let signalwire = guard(Flavour::SignalWire, "12345", "https://example.com");
            prop_assert!(!signalwire.admits(&path, &json, &form));
        }
    }
}
