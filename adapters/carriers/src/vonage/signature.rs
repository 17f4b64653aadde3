//! Vonage's webhook signature: a token in the `Authorization` header, signed with HS256 and the account's
//! signature secret, which contains a hash of the body. Pure.
//!
//! The signature does not cover the address. The proof in the address shows that a webhook is for the call in
//! it. Source: <https://developer.vonage.com/en/getting-started/concepts/webhooks#signed-webhooks>

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors::ErrorKind};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Maximum age of a signature, also in the future.
pub const WINDOW_SECONDS: u64 = 300;
/// Maximum length of a token; Vonage's are shorter.
const MAX_TOKEN_BYTES: usize = 4096;

/// Key that verifies the webhooks of one application.
#[derive(Clone)]
pub struct WebhookKey {
    key: DecodingKey,
    application: String,
}

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookKey")
            .field("application", &self.application)
            .finish_non_exhaustive()
    }
}

/// Reason why a webhook is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SignatureError {
    #[error("no token in the `Authorization` header; enable signed webhooks for the application")]
    Missing,
    #[error("`Authorization` header without a token in three parts")]
    Malformed,
    #[error("token is not signed with HS256")]
    Algorithm,
    #[error("signature does not match; VONAGE_SIGNATURE_SECRET must be the account's")]
    Forged,
    #[error("token without its `iat` and `payload_hash`")]
    Claims,
    #[error("signed more than {WINDOW_SECONDS} s before or after now")]
    Stale,
    #[error("signed for another application than VONAGE_APPLICATION_ID")]
    Application,
    #[error("body is not the one that was signed")]
    Body,
}

#[derive(Deserialize)]
struct Claims {
    iat: f64,
    payload_hash: String,
    #[serde(default)]
    application_id: Option<String>,
}

impl WebhookKey {
    /// Creates the key from the account's signature secret, for the webhooks of `application`.
    pub fn new(signature_secret: &str, application: &str) -> Self {
        Self {
            key: DecodingKey::from_secret(signature_secret.as_bytes()),
            application: application.to_owned(),
        }
    }

    /// Verifies the signature, age and application of a webhook, and that it was signed for this body.
    /// `authorization` is the header's value; `now_seconds` counts from 1970.
    pub fn verify(&self, authorization: Option<&str>, body: &[u8], now_seconds: i64) -> Result<(), SignatureError> {
        let claims = self.claims(authorization)?;
        // Vonage's tokens have times in whole seconds; some libraries write fractions.
        if (now_seconds as f64 - claims.iat).abs() > WINDOW_SECONDS as f64 {
            return Err(SignatureError::Stale);
        }
        if claims.application_id.is_some_and(|named| named != self.application) {
            return Err(SignatureError::Application);
        }
        let hash = hex::encode(Sha256::digest(body));
        let signed = claims.payload_hash.to_ascii_lowercase();
        if bool::from(hash.as_bytes().ct_eq(signed.as_bytes())) {
            Ok(())
        } else {
            Err(SignatureError::Body)
        }
    }

    /// Verifies the signature of a token and returns its claims.
    fn claims(&self, authorization: Option<&str>) -> Result<Claims, SignatureError> {
        let shown = authorization.filter(|value| !value.is_empty());
        let token = shown
            .ok_or(SignatureError::Missing)?
            .strip_prefix("Bearer ")
            .filter(|token| token.len() <= MAX_TOKEN_BYTES)
            .ok_or(SignatureError::Malformed)?;
        let header = decode_header(token).map_err(|error| match error.kind() {
            ErrorKind::InvalidToken => SignatureError::Malformed,
            _ => SignatureError::Algorithm,
        })?;
        if header.alg != Algorithm::HS256 {
            return Err(SignatureError::Algorithm);
        }
        let mut only_signature = Validation::new(Algorithm::HS256);
        only_signature.validate_exp = false;
        only_signature.required_spec_claims.clear();
        let signed = decode(token, &self.key, &only_signature).map_err(|error| match error.kind() {
            ErrorKind::Json(_) => SignatureError::Claims,
            _ => SignatureError::Forged,
        })?;
        Ok(signed.claims)
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
    use proptest::prelude::*;
    use ring::hmac;
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &str = "secretsecretsecretsecretsecret12";
    const BODY: &str = r#"{"status":"ringing"}"#;
    const TOKEN: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpYXQiOjE3MDAwMDAwMDAsImp0aSI6ImoxIiwiaXNzIjoiVm9uYWdlIiwicGF5bG9hZF9oYXNoIjoiZGFiOGFjZTI5NzYxNDQ0MWFiZmUwOGFkOTdkZGFiZTE3NGUyYjVkYjgxNTYzM2M5YzZjMTk4MjEwYWQ0NDZmMCIsImFwaV9rZXkiOiJhYmNkMTIzNCIsImFwcGxpY2F0aW9uX2lkIjoiYSJ9.HUqqfoS7wzrqnIdrb2BlyoM6BSPPip2KAwSdO0Ypaxg";
    const NOW: i64 = 1_700_000_000;

    fn verify(header: &str, body: &str, now: i64) -> Result<(), SignatureError> {
        WebhookKey::new(SECRET, "a").verify(Some(header), body.as_bytes(), now)
    }

    fn signed(header: &Value, claims: &Value) -> String {
        let encode = |part: &Value| BASE64URL.encode(part.to_string());
        let message = format!("{}.{}", encode(header), encode(claims));
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()),
            message.as_bytes(),
        );
        format!("Bearer {message}.{}", BASE64URL.encode(tag))
    }

    fn claims(more: &Value) -> Value {
        let mut claims =
            json!({ "iat": NOW, "payload_hash": hex::encode(Sha256::digest(BODY)), "application_id": "a" });
        claims
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        claims
    }

    #[test]
    fn a_webhook_of_vonage_is_taken_within_its_window() {
        let header = format!("Bearer {TOKEN}");
        for now in [NOW, NOW - 300, NOW + 300] {
            assert_eq!(verify(&header, BODY, now), Ok(()));
        }
        for now in [NOW - 301, NOW + 301, i64::MIN, i64::MAX] {
            assert_eq!(verify(&header, BODY, now), Err(SignatureError::Stale));
        }
        assert_eq!(
            verify(&header, r#"{"status":"machine"}"#, NOW),
            Err(SignatureError::Body)
        );
        let other = WebhookKey::new(SECRET, "b").verify(Some(&header), BODY.as_bytes(), NOW);
        assert_eq!(other, Err(SignatureError::Application));
        let unknown = WebhookKey::new("another secret", "a").verify(Some(&header), BODY.as_bytes(), NOW);
        assert_eq!(unknown, Err(SignatureError::Forged));
    }

    #[test]
    fn a_token_that_is_signed_otherwise_or_says_too_little_is_refused() {
        let hs256 = json!({ "alg": "HS256", "typ": "JWT" });
        assert_eq!(verify(&signed(&hs256, &claims(&json!({}))), BODY, NOW), Ok(()));
        for alg in ["none", "RS256", "HS512", "hs256", ""] {
            let header = signed(&json!({ "alg": alg }), &claims(&json!({})));
            assert_eq!(verify(&header, BODY, NOW), Err(SignatureError::Algorithm), "{alg}");
        }
        for wrong in [
            json!({ "iat": null }),
            json!({ "payload_hash": null }),
            json!({ "iat": "now" }),
        ] {
            let header = signed(&hs256, &claims(&wrong));
            assert_eq!(verify(&header, BODY, NOW), Err(SignatureError::Claims), "{wrong}");
        }
        for hash in [
            "",
            "dab8",
            "DAB8ACE297614441ABFE08AD97DDABE174E2B5DB815633C9C6C198210AD446F1",
        ] {
            let header = signed(&hs256, &claims(&json!({ "payload_hash": hash })));
            assert_eq!(verify(&header, BODY, NOW), Err(SignatureError::Body), "{hash}");
        }
        let nobody_s = signed(&hs256, &claims(&json!({ "application_id": null })));
        assert_eq!(verify(&nobody_s, BODY, NOW), Ok(()));
    }

    #[test]
    fn a_header_without_a_token_is_named() {
        let key = WebhookKey::new(SECRET, "a");
        for missing in [None, Some("")] {
            assert_eq!(key.verify(missing, b"", NOW), Err(SignatureError::Missing));
        }
        let long = format!("Bearer {}", "a.".repeat(4_000));
        for header in ["Bearer", "Bearer x", "Bearer a.b", "Basic YTpi", TOKEN, &long] {
            assert_eq!(verify(header, BODY, NOW), Err(SignatureError::Malformed), "{header}");
        }
    }

    proptest! {
        #[test]
        fn one_changed_character_is_noticed(at in 0..TOKEN.len(), with in "[A-Za-z0-9_.-]") {
            let mut token = TOKEN.to_owned();
            token.replace_range(at..=at, &with);
            // The last character contains two bits without meaning.
            if token != TOKEN && at + 1 < TOKEN.len() {
                let header = format!("Bearer {token}");
                prop_assert!(verify(&header, BODY, NOW).is_err());
            }
        }

        #[test]
        fn no_header_makes_it_panic(header in "\\PC{0,200}", now in any::<i64>()) {
            prop_assert!(verify(&header, BODY, now).is_err());
            let borne = format!("Bearer {header}");
            prop_assert!(verify(&borne, BODY, now).is_err());
        }
    }
}
