//! Requests that change nothing at a carrier. Problems are worded so that a person can act on them, and no key is ever
//! shown.

use domain::phone_number::PhoneNumber;
use reqwest::{RequestBuilder, StatusCode, header::CONTENT_TYPE};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::http::{Clients, SetupError, send, words::plain_words};
use net::http_client::body;

/// Problem text for an answer that does not come from the carrier.
pub(crate) const NOT_ITS_OWN: &str = "it answers, but not like this carrier; check the address";

/// Placeholder in addresses if the public address is not set.
const UNKNOWN: &str = "RINGBACK_PUBLIC_URL";
/// Maximum pages of an account's numbers, of 100 each. Further numbers are left out.
pub(crate) const MOST_PAGES: u32 = 20;

/// Reason why a request has no useful answer, for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub(crate) String);

impl Problem {
    /// Adds to the problem the address that was asked and the settings to correct.
    pub(crate) fn at(&self, address: &str, settings: &str) -> Self {
        Self(format!("asked at {address}: {self}. Its settings: {settings}"))
    }
}

/// Client for these requests.
pub struct Asker(Clients);

impl Asker {
    pub(crate) fn new() -> Result<Self, SetupError> {
        Clients::new().map(Self)
    }

    pub(crate) fn get(&self, address: &str) -> RequestBuilder {
        self.0.client.get(address)
    }

    pub(crate) fn post(&self, address: &str) -> RequestBuilder {
        self.0.client.post(address)
    }

    /// Sends an empty form. Returns the status and the text of the answer, or `None` if nobody answers.
    pub(crate) async fn submit(&self, request: RequestBuilder) -> Option<(StatusCode, String)> {
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = send(request).await.ok()?;
        let status = answer.status();
        let said = body(answer).await.ok()?;
        Some((status, String::from_utf8_lossy(&said).into_owned()))
    }

    /// Returns the answer, or the problem.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Problem> {
        let answer = send(request).await.map_err(|error| Problem(error.to_string()))?;
        let status = answer.status();
        let said = body(answer).await.map_err(|error| Problem(error.to_string()))?;
        let words = || own_words(&said).map_or_else(String::new, |words| format!(": {words}"));
        Err(Problem(match status {
            status if status.is_success() => {
                return serde_json::from_slice(&said).map_err(|_| Problem(NOT_ITS_OWN.to_owned()));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("the account or its key was refused ({status}{})", words())
            }
            StatusCode::NOT_FOUND => "not found (404): check the account's id and the address".to_owned(),
            StatusCode::TOO_MANY_REQUESTS => "too many requests (429): try again in a minute".to_owned(),
            status if status.is_redirection() => {
                format!("it redirects to another address ({status}); check the address")
            }
            status => format!("it answered {status}{}", words()),
        }))
    }
}

/// A check of one carrier.
pub struct Check<'a> {
    pub(crate) ask: &'a Asker,
    pub(crate) carrier: &'static str,
    /// Address at which carriers reach the service.
    pub(crate) public: Option<&'a str>,
}

impl<'a> Check<'a> {
    /// Returns the address of a route of this carrier.
    pub(crate) fn callback(&self, path: &str) -> String {
        let public = self.public.unwrap_or(UNKNOWN);
        format!("{public}/carriers/{}/{path}", self.carrier)
    }

    /// Checks that a carrier on the internet can reach the service, which needs an `https://` address.
    /// Returns that address.
    pub(crate) fn reachable(&self, api: &str) -> Result<&'a str, Problem> {
        match self.public {
            Some(public) if public.starts_with("https://") || api.starts_with("http://") => Ok(public),
            _ => Err(Problem(format!(
                "the account is accepted, but {} must reach the service: set RINGBACK_PUBLIC_URL to its https:// address",
                self.carrier
            ))),
        }
    }
}

/// Returns a carrier's error text from the fields in which carriers put it. Nothing else is worth showing.
fn own_words(said: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(said).ok()?;
    let fields = [
        &said["message"],
        &said["errors"][0]["detail"],
        &said["errors"][0]["title"],
        &said["detail"],
        &said["title"],
    ];
    let words = fields.into_iter().find_map(Value::as_str)?;
    Some(plain_words(words)).filter(|words| !words.is_empty())
}

/// A number in the list of an account.
#[derive(Deserialize)]
pub(crate) struct ListedNumber {
    phone_number: Option<String>,
}

/// Leaves out short codes and the like.
pub(crate) fn valid(numbers: Vec<ListedNumber>) -> impl Iterator<Item = PhoneNumber> {
    let texts = numbers.into_iter().filter_map(|number| number.phone_number);
    texts.filter_map(|text| PhoneNumber::parse(&text).ok())
}
