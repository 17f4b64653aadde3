//! The application's token for requests to Vonage (RS256). Pure.
//!
//! Source: `vonage_jwt` of the Vonage Python SDK, and <https://developer.vonage.com/en/getting-started/concepts/authentication>

use std::{fmt, sync::Arc};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;
use uuid::Uuid;

/// Lifetime of a request's token, in seconds. Each request has its own; the rest is tolerance for different clocks.
pub const VALID_SECONDS: i64 = 300;

/// Private key of a Vonage application.
#[derive(Clone)]
pub struct ApplicationKey(Arc<EncodingKey>);

impl fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplicationKey(…)")
    }
}

/// Text that is not an application's private key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not the private key of a Vonage application: use the dashboard's RSA key of 2048 bits or more in PEM")]
pub struct NotAKey;

/// A failure to sign a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the application's private key cannot sign")]
pub struct NotSigned;

impl ApplicationKey {
    /// Parses a key in PEM (PKCS #8 or PKCS #1). Line breaks may be written as `\n`, as in env files.
    pub fn from_pem(text: &str) -> Result<Self, NotAKey> {
        let pem = text.replace("\\n", "\n");
        let key = EncodingKey::from_rsa_pem(pem.as_bytes()).map_err(|_| NotAKey)?;
        let key = Self(Arc::new(key));
        // A damaged key is noticed only when it signs.
        key.token("", 0).map_err(|_| NotAKey)?;
        Ok(key)
    }

    /// Creates the application's token for one request, at a time in seconds since 1970.
    pub fn token(&self, application: &str, now_seconds: i64) -> Result<String, NotSigned> {
        let claims = json!({
            "application_id": application, "iat": now_seconds, "exp": now_seconds + VALID_SECONDS,
            "jti": Uuid::new_v4().to_string(),
        });
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.0).map_err(|_| NotSigned)
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
    use proptest::prelude::*;
    use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
    use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
    use serde_json::Value;

    use super::*;
    use sim::stub_carriers::vonage::PRIVATE_KEY;

    #[test]
    fn a_token_names_its_application_and_is_signed_with_its_key() {
        let key = ApplicationKey::from_pem(PRIVATE_KEY).unwrap();
        let token = key.token("app-1", 1_700_000_000).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let pair = PrivatePkcs8KeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).unwrap();
        let pair = RsaKeyPair::from_pkcs8(pair.secret_pkcs8_der()).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key());
        let signature = BASE64URL.decode(signature).unwrap();
        public.verify(message.as_bytes(), &signature).unwrap();
        let (header, claims) = message.split_once('.').unwrap();
        let read = |part: &str| serde_json::from_slice::<Value>(&BASE64URL.decode(part).unwrap()).unwrap();
        assert_eq!(read(header), json!({ "alg": "RS256", "typ": "JWT" }));
        let claims = read(claims);
        assert_eq!(claims["application_id"], "app-1");
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&json!(1_700_000_000), &json!(1_700_000_300))
        );
        assert_eq!(claims["jti"].as_str().unwrap().len(), 36);
        assert_ne!(
            key.token("app-1", 1_700_000_000).unwrap(),
            token,
            "each has an id of its own"
        );
        assert_eq!(format!("{key:?}"), "ApplicationKey(…)");
    }

    #[test]
    fn a_key_is_read_in_each_of_its_forms() {
        let one_line = PRIVATE_KEY.trim().replace('\n', "\\n");
        assert!(ApplicationKey::from_pem(&one_line).is_ok());
        let ec = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----";
        let damaged = PRIVATE_KEY.replacen("MII", "MIJ", 1);
        for wrong in ["", "abc", ec, &damaged, &PRIVATE_KEY[..200]] {
            assert_eq!(ApplicationKey::from_pem(wrong).err(), Some(NotAKey), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(pem in "\\PC{0,200}") {
            prop_assert!(ApplicationKey::from_pem(&pem).is_err());
        }
    }
}
