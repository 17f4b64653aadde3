//! Signatures according to the Standard Webhooks specification: HMAC-SHA256 over id, timestamp and body.
//!
//! Signing takes a few lines with the libraries that the service uses already. The specification's own
//! package would add a second HMAC, another base64 and a calendar library. The tests use it to verify the
//! signatures.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::ports::store::WebhookSecrets;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Prefix of a secret.
const PREFIX: &str = "whsec_";

/// The secret cannot sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the account's webhook secret is damaged; make a new one with POST /public/v1/me/webhook-secret/rotate")]
pub struct InvalidSecret;

/// Returns the value of `webhook-signature`: one signature for each valid secret, separated by spaces.
///
/// # Errors
///
/// Returns an error if a secret is not base64 after `whsec_`.
pub fn sign(secrets: &WebhookSecrets, id: &str, unix_seconds: i64, body: &str) -> Result<String, InvalidSecret> {
    let one = |secret: &String| {
        let encoded = secret.strip_prefix(PREFIX).unwrap_or(secret);
        let key = BASE64_STANDARD.decode(encoded).map_err(|_| InvalidSecret)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| InvalidSecret)?;
        mac.update(format!("{id}.{unix_seconds}.{body}").as_bytes());
        Ok(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
    };
    let valid = std::iter::once(&secrets.current).chain(&secrets.previous);
    let signatures: Vec<String> = valid.map(one).collect::<Result<_, _>>()?;
    Ok(signatures.join(" "))
}

#[cfg(test)]
mod tests {
    use standardwebhooks::Webhook;

    use super::*;

    #[test]
    fn the_specifications_own_package_makes_the_same_signatures() {
        let (old, new) = (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_AAECAwQFBgcICQoLDA0ODw==",
        );
        let secrets = WebhookSecrets {
            current: new.to_owned(),
            previous: Some(old.to_owned()),
        };
        let (id, at, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let expected = |secret| {
            let signed = Webhook::new(secret).unwrap().sign(id, at, body.as_bytes());
            signed.unwrap()
        };
        let signature = sign(&secrets, id, at, body).unwrap();
        assert_eq!(signature, format!("{} {}", expected(new), expected(old)));
        // Example from the specification.
        assert!(signature.ends_with("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn a_damaged_secret_signs_nothing() {
        let secrets = WebhookSecrets {
            current: "whsec_?".to_owned(),
            previous: None,
        };
        assert_eq!(sign(&secrets, "a", 0, "b"), Err(InvalidSecret));
    }
}
