//! The Standard Webhooks signature of a tool's request, by each of the account's valid secrets.

use actors::ports::store::WebhookSecrets;
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

/// Before the key in a secret.
const PREFIX: &str = "whsec_";

/// `webhook-id`, `webhook-timestamp` (seconds) and `webhook-signature`. None when a secret is none.
pub(super) fn headers(secrets: &WebhookSecrets, id: &str, at: i64, content: &str) -> Option<HeaderMap> {
    let valid = [Some(&secrets.current), secrets.previous.as_ref()];
    let signatures = valid.into_iter().flatten().map(|secret| sign(secret, id, at, content));
    let signatures: Vec<String> = signatures.collect::<Option<_>>()?;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", signatures.join(" ")),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
    }
    Some(headers)
}

fn sign(secret: &str, id: &str, at: i64, content: &str) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(PREFIX).unwrap_or(secret)).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{at}.{content}").as_bytes());
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_the_specifications() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed = sign(
            secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn both_secrets_sign_while_both_are_valid() {
        let secrets = WebhookSecrets {
            current: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into(),
            previous: Some("whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()),
        };
        let headers = headers(&secrets, "tool_1", 7, "").unwrap();
        let signature = headers["webhook-signature"].to_str().unwrap();
        assert_eq!(signature.split(' ').filter(|one| one.starts_with("v1,")).count(), 2);
        assert_eq!(
            (&headers["webhook-id"], &headers["webhook-timestamp"]),
            (&"tool_1".parse().unwrap(), &"7".parse().unwrap())
        );
    }
}
