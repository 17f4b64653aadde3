//! Signature headers of a tool's request, the same as those of webhooks.

use domain::ports::store::WebhookSecrets;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::deliveries::sign;

/// Returns `webhook-id`, `webhook-timestamp` (seconds) and `webhook-signature`. Returns `None` if a secret is invalid.
pub(super) fn headers(secrets: &WebhookSecrets, id: &str, at: i64, content: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", sign(secrets, id, at, content).ok()?),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(headers["webhook-signature"], sign(&secrets, "tool_1", 7, "").unwrap());
        let damaged = WebhookSecrets {
            current: "whsec_?".into(),
            previous: None,
        };
        assert_eq!(super::headers(&damaged, "tool_1", 7, ""), None);
    }
}
