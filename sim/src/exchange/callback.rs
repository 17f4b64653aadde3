//! Status callbacks: in order for each call, tried again while the receiver is away, given up when it refuses.

use std::time::Duration;

use rand::Rng;
use reqwest::{Client, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc;

use super::log::{Log, LogEvent};
use net::http_client;

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Tries of one callback.
const TRIES: u32 = 8;
/// The pause after the first failure; doubled with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Callbacks that may wait: a call has three.
pub(super) const WAITING: usize = 8;

/// What is reported of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(super) enum Status {
    /// It rings.
    Ringing,
    /// It was picked up.
    Answered,
    /// It was handed on, and somebody answered there.
    Transferred,
    /// It was to be handed on, and nobody could be had.
    TransferFailed {
        /// Why.
        reason: String,
    },
    /// It is over.
    Ended {
        /// How: `completed`, `busy`, `no-answer`, `rejected`, `canceled` or `failed`.
        cause: &'static str,
        /// More about a failure.
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

/// Where and about what callbacks of one call are sent.
pub(super) struct Subscription {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) call_id: String,
    pub(super) attempt: String,
    /// Each callback is sent twice, as carriers sometimes do.
    pub(super) duplicate: bool,
    pub(super) log: Log,
}

/// The client all callbacks share.
pub(super) fn client() -> reqwest::Result<Client> {
    http_client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_WITHIN)
        .timeout(ANSWER_WITHIN)
        .build()
}

/// Delivers until the call has nothing more to report.
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
            // The address holds a proof; it does not belong in a log.
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
