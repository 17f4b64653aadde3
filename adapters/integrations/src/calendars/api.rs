//! Requests to a calendar's HTTP API. They go to no other address, are limited in time and size, and their
//! errors tell what is certain.

use std::time::Duration;

use domain::time::Timestamp;
use reqwest::{Client, RequestBuilder, StatusCode, header::LOCATION};
use serde_json::Value;

use super::port::CalendarError;
use net::http_client::body;
use net::{http_client, redact};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// The caller waits during this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Maximum characters of a calendar's error message that are passed on.
const MOST_WORDS: usize = 200;

/// Builds a client that follows no redirects and repeats no requests.
pub(super) fn client() -> Result<Client, reqwest::Error> {
    http_client::builder()
        .user_agent(concat!("Ringback/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_WITHIN)
        .timeout(ANSWER_WITHIN)
        .build()
}

/// Response of a calendar.
#[derive(Debug)]
pub(super) struct Answered {
    /// HTTP status.
    pub status: StatusCode,
    /// Body; null if it is not JSON.
    pub body: Value,
}

/// Sends a request once.
pub(super) async fn send(request: RequestBuilder) -> Result<Answered, CalendarError> {
    let unknown = |error: &reqwest::Error| {
        let why = if error.is_timeout() {
            "it took too long"
        } else {
            "it broke off"
        };
        CalendarError::Unknown(why.to_owned())
    };
    let answer = request.send().await.map_err(|error| {
        // The request goes out only on an established connection.
        if error.is_connect() {
            CalendarError::Unavailable
        } else {
            unknown(&error)
        }
    })?;
    let status = answer.status();
    if status.is_redirection() {
        let to = answer.headers().get(LOCATION).map(|_| " elsewhere").unwrap_or_default();
        return Err(CalendarError::Refused(format!(
            "it redirects{to}, which is not followed"
        )));
    }
    let said = body(answer)
        .await
        .map_err(|error| CalendarError::Unknown(redact::fit(&error.to_string())))?;
    Ok(Answered {
        status,
        body: serde_json::from_slice(&said).unwrap_or_default(),
    })
}

impl Answered {
    /// Returns the body of a success. Otherwise returns what the status means for a request that changes something.
    pub(super) fn body(self) -> Result<Value, CalendarError> {
        let status = self.status;
        match status.as_u16() {
            200..=299 if self.body.is_null() => Err(CalendarError::Unknown("its answer is not JSON".into())),
            200..=299 => Ok(self.body),
            429 => Err(CalendarError::Busy),
            500..=599 => Err(CalendarError::Unknown(format!("it answered {status}"))),
            401 | 403 => {
                tracing::warn!(%status, said = self.words(), "calendar refused the service's key");
                Err(CalendarError::Refused("the service has no access to it".into()))
            }
            _ => Err(CalendarError::Refused(self.words())),
        }
    }

    /// Returns the calendar's error message.
    pub(super) fn words(&self) -> String {
        let said = &self.body["error"]["message"];
        let said = said.as_str().or(self.body["message"].as_str()).unwrap_or_default();
        let fit: String = redact::fit(said).chars().take(MOST_WORDS).collect();
        match fit.trim() {
            "" => self.status.to_string(),
            fit => fit.to_owned(),
        }
    }
}

/// Parses a time with its offset.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::from_iso8601(value.as_str()?)
}

/// Formats a time in UTC, as both APIs accept it.
pub(super) fn utc(at: Timestamp) -> String {
    at.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}
