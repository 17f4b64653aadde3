//! The tokens of both sides: an application sends one signed with its private key, and every webhook carries
//! one signed with the account's secret.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use domain::time::Clock;
use ring::{
    hmac,
    signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::stub_carriers::settings::locked;

/// Private key of the only application. It opens nothing but this stub.
pub const PRIVATE_KEY: &str = include_str!("application.pem");
/// The only application.
pub const APPLICATION: &str = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab";
/// Secret that signs webhooks.
pub const SIGNATURE_SECRET: &str = "stub-signature-secret";

/// A token is valid for a day at most.
const MOST_SECONDS: i64 = 86_400;
/// Allowed difference between clocks.
const SLACK_SECONDS: i64 = 60;

fn seconds(clock: &Arc<dyn Clock>) -> i64 {
    clock.now().0.div_euclid(1_000_000)
}

/// Authenticates applications.
pub(super) struct Applications {
    clock: Arc<dyn Clock>,
    public_key: Vec<u8>,
    seen: Mutex<BTreeSet<String>>,
}

impl Applications {
    /// Takes the public half of the stub's key; returns `None` if the key cannot be read.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Option<Self> {
        let pem = PrivatePkcs8KeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).ok()?;
        let pair = RsaKeyPair::from_pkcs8(pem.secret_pkcs8_der()).ok()?;
        Some(Self {
            clock,
            public_key: pair.public_key().as_ref().to_vec(),
            seen: Mutex::default(),
        })
    }

    /// Returns whether a request has a valid token that was not used before.
    pub(super) fn admits(&self, authorization: Option<&str>) -> bool {
        authorization.and_then(|shown| self.check(shown)).is_some()
    }

    fn check(&self, shown: &str) -> Option<()> {
        let (message, signature) = shown.strip_prefix("Bearer ")?.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        let signature = BASE64URL.decode(signature).ok()?;
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public_key)
            .verify(message.as_bytes(), &signature)
            .ok()?;
        let read = |part: &str| serde_json::from_slice::<Value>(&BASE64URL.decode(part).ok()?).ok();
        let (header, claims) = (read(header)?, read(claims)?);
        let (issued, until, now) = (claims["iat"].as_i64()?, claims["exp"].as_i64()?, seconds(&self.clock));
        let in_time = issued <= now + SLACK_SECONDS && now <= until && until - issued <= MOST_SECONDS;
        let ours = header["alg"] == "RS256" && claims["application_id"] == APPLICATION;
        let first = locked(&self.seen).insert(claims["jti"].as_str()?.to_owned());
        (in_time && ours && first).then_some(())
    }
}

/// Signs webhooks.
pub(super) struct Signer {
    clock: Arc<dyn Clock>,
    key: hmac::Key,
}

impl Signer {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            key: hmac::Key::new(hmac::HMAC_SHA256, SIGNATURE_SECRET.as_bytes()),
        }
    }

    /// Returns the `Authorization` header of a webhook with this body.
    pub(super) fn header(&self, body: &[u8]) -> String {
        self.header_at(body, seconds(&self.clock))
    }

    pub(super) fn header_at(&self, body: &[u8], seconds: i64) -> String {
        let hash = hex::encode(Sha256::digest(body));
        let claims = json!({
            "iat": seconds, "jti": Uuid::new_v4().to_string(), "iss": "Vonage", "payload_hash": hash,
            "api_key": "abcd1234", "application_id": APPLICATION,
        });
        let header = json!({ "typ": "JWT", "alg": "HS256" });
        let part = |part: &Value| BASE64URL.encode(part.to_string());
        let message = format!("{}.{}", part(&header), part(&claims));
        let tag = hmac::sign(&self.key, message.as_bytes());
        format!("Bearer {message}.{}", BASE64URL.encode(tag))
    }
}
