//! Status callbacks. They are sent in order for each call, retried while the receiver is unavailable, and
//! given up when it refuses them.

use std::time::Duration;

use rand::Rng;
use reqwest::{Client, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

use super::log::{Log, LogEvent};
use net::http_client;

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Most attempts to deliver one callback.
const TRIES: u32 = 8;
/// Pause after the first failure. It doubles after each further failure, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Most callbacks that may wait; a call has three.
pub(super) const WAITING: usize = 8;

/// Reported state of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(super) enum Status {
    /// The phone rings.
    Ringing,
    /// The callee picked up.
    Answered,
    /// The call was transferred and answered there.
    Transferred,
    /// The transfer failed because nobody answered.
    TransferFailed {
        /// Reason of the failure.
        reason: String,
    },
    /// The call is over.
    Ended {
        /// `completed`, `busy`, `no-answer`, `rejected`, `canceled` or `failed`.
        cause: &'static str,
        /// Details of a failure.
        #[serde(skip_serializing_if = "String::is_empty")]
        reason: String,
    },
}

impl Status {
    fn name(&self) -> &'static str {
        match self {
            Self::Ringing => "ringing",
            Self::Answered => "answered",
            Self::Transferred => "transferred",
            Self::TransferFailed { .. } => "transfer-failed",
            Self::Ended { .. } => "ended",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    call_id: &'a str,
    attempt: &'a str,
    sequence: u32,
    #[serde(flatten)]
    status: &'a Status,
}

/// Receiver and subject of one call's callbacks.
pub(super) struct Subscription {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) call_id: String,
    pub(super) attempt: String,
    /// Sends each callback twice, as carriers sometimes do.
    pub(super) duplicate: bool,
    pub(super) log: Log,
}

/// Builds the HTTP client that all callbacks share.
pub(super) fn client() -> reqwest::Result<Client> {
    http_client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_WITHIN)
        .timeout(ANSWER_WITHIN)
        .build()
}

/// Delivers callbacks until the call has nothing more to report.
pub(super) async fn deliver(to: Subscription, mut statuses: mpsc::Receiver<Status>) {
    let mut sequence = 0;
    while let Some(status) = statuses.recv().await {
        let body = Body {
            call_id: &to.call_id,
            attempt: &to.attempt,
            sequence,
            status: &status,
        };
        sequence += 1;
        let mut sent = send(&to, &body).await;
        if to.duplicate && sent.is_ok() {
            sent = send(&to, &body).await;
        }
        if let Err(reason) = sent {
            let status = status.name().to_owned();
            to.log.add(&to.call_id, LogEvent::StatusLost { status, reason });
        }
    }
}

async fn send(to: &Subscription, body: &Body<'_>) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    let mut last = String::new();
    for tried in 1..=TRIES {
        match to.client.post(&to.url).json(body).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) if is_final(answer.status()) => return Err(format!("refused: {}", answer.status())),
            Ok(answer) => last = answer.status().to_string(),
            // The address contains a proof, which does not belong in a log.
            Err(error) => last = error.without_url().to_string(),
        }
        if tried < TRIES {
            let jittered = pause.mul_f64(rand::rng().random_range(0.75..1.25));
            tokio::time::sleep(jittered).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    Err(format!("given up after {TRIES} tries: {last}"))
}

fn is_final(status: StatusCode) -> bool {
    !status.is_server_error() && !matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}
