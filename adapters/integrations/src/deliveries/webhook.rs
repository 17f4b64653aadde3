//! Sender of webhooks. It connects only to allowed addresses, follows no redirects, keeps time limits, and
//! reads little of the answer.

use std::{error::Error, sync::Arc, time::Duration};

use domain::{
    ports::store::{Delivery, WebhookSecrets},
    time::{Clock, Timestamp},
};
use reqwest::{Response, Url, header};

use super::{answer::Answer, signature::sign};
use net::{
    address_policy::{ALLOW_PRIVATE, AddressPolicy, NotAllowed, Resolver, guard, is_of_no_address, refusal_in},
    http_client,
};

/// Bytes of an answer that are read so that its connection can be reused.
const BODY_BYTES: usize = 16 * 1024;

/// Bytes of an answer that are kept with its delivery.
const KEPT_BYTES: usize = 2 * 1024;

/// Maximum number of idle connections kept per host, and how long.
const IDLE: (usize, Duration) = (4, Duration::from_secs(15));

/// Time limits for a receiver. The Standard Webhooks specification recommends 15 to 30 s.
#[derive(Debug, Clone, Copy)]
pub struct WebhookLimits {
    /// Limit for the connection, including TLS.
    pub connect: Duration,
    /// Limit for the head of the answer.
    pub answer: Duration,
    /// Limit for the body of the answer.
    pub body: Duration,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(15),
            body: Duration::from_secs(1),
        }
    }
}

/// Sender of webhooks.
pub struct WebhookSender {
    client: reqwest::Client,
    policy: AddressPolicy,
    limits: WebhookLimits,
    clock: Arc<dyn Clock>,
}

impl WebhookSender {
    /// Creates a sender.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(
        policy: AddressPolicy,
        resolver: Arc<dyn Resolver>,
        limits: WebhookLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, reqwest::Error> {
        let builder = http_client::builder()
            .user_agent(concat!("Ringback/", env!("CARGO_PKG_VERSION")))
            .referer(false)
            .no_gzip()
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(IDLE.0)
            .pool_idle_timeout(IDLE.1);
        let client = guard(builder, &policy, resolver).build()?;
        Ok(Self {
            client,
            policy,
            limits,
            clock,
        })
    }

    /// Tries once to send a webhook, and adds the receiver's reply to the delivery.
    pub async fn send(&self, delivery: &mut Delivery, secrets: &WebhookSecrets, body: String) -> Answer {
        let url = match Url::parse(&delivery.target) {
            Ok(url) => url,
            Err(error) => return Answer::failed(format!("the webhook's address is not valid: {error}")),
        };
        if let Err(refused) = self.policy.check_literal(&url) {
            return Answer::failed(format!("{refused}; {ALLOW_PRIVATE}"));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let now = self.clock.now();
        let id = delivery.id.to_string();
        let signature = match sign(secrets, &id, now.unix_seconds(), &body) {
            Ok(signature) => signature,
            Err(error) => return Answer::failed(error.to_string()),
        };
        let request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now.unix_seconds())
            .header("webhook-signature", signature)
            .body(body);
        match tokio::time::timeout(self.limits.answer, request.send()).await {
            Ok(Ok(response)) => {
                let (answer, reply) = self.read(response, now).await;
                delivery.reply = reply;
                answer
            }
            Ok(Err(error)) => Answer::failed(failure(&host, &error)),
            Err(_) => Answer::failed(format!("no answer within {} s", self.limits.answer.as_secs())),
        }
    }

    async fn read(&self, mut response: Response, now: Timestamp) -> (Answer, Option<String>) {
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok());
        let answer = Answer::of_status(response.status().as_u16(), retry_after, now);
        let mut kept = Vec::new();
        let body = async {
            let mut read = 0;
            while let Ok(Some(chunk)) = response.chunk().await {
                read += chunk.len();
                kept.extend(chunk.iter().take(KEPT_BYTES - kept.len()));
                if read > BODY_BYTES {
                    break;
                }
            }
        };
        // The status is enough. A body that is long or late only costs the connection.
        let _ = tokio::time::timeout(self.limits.body, body).await;
        (answer, text_of(&kept))
    }
}

/// Returns the text without characters that some databases refuse; none if it is empty.
fn text_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    // The last character may be cut.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Describes a failure by its root cause. The address is left out, because its path may be a secret. A name without an
/// address and one that has only private addresses fail alike, because clients read this text.
fn failure(host: &str, error: &reqwest::Error) -> String {
    if let Some(refusal) = refusal_in(error) {
        return format!("{refusal}; {ALLOW_PRIVATE}");
    }
    if is_of_no_address(error) {
        tracing::debug!(%host, %error, "host name has no address");
        let refusal = NotAllowed::Resolved { host: host.to_owned() };
        return format!("{refusal}; {ALLOW_PRIVATE}");
    }
    let mut root: &dyn Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let what = if error.is_connect() {
        "the receiver cannot be reached"
    } else {
        "the receiver did not answer"
    };
    format!("{what}: {root}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_kept_as_text_that_every_database_takes() {
        for (bytes, text) in [
            (&b""[..], None),
            (b" \n", None),
            (b"{\"ok\": true}\n", Some("{\"ok\": true}")),
            (b"a\0b", Some("ab")),
            ("gr\u{fc}\u{df}e".as_bytes(), Some("gr\u{fc}\u{df}e")),
            // The end of a character is missing.
            (b"gr\xc3\xbc\xc3", Some("gr\u{fc}")),
        ] {
            assert_eq!(text_of(bytes).as_deref(), text);
        }
    }
}
