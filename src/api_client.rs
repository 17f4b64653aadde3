//! Client of the service's own REST API, for the commands that use it as any client would.

use std::time::Duration;

use domain::time::{Clock, SystemClock, Timestamp};
use reqwest::{Method, multipart};
use serde_json::{Value, json};

use net::http_client;

/// Occurs once per contact in a response.
const CONTACT: &[u8] = b"\"phoneNumber\":";

/// Endpoint that creates campaigns from files.
const CAMPAIGNS_CSV: &str = "/public/v1/campaigns/csv";

/// Timeout of the import of a large file.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);

/// Number of retries of a read that the service answered with 503.
const ASKED_AGAIN: u32 = 40;
/// Pause between two of these retries.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Reasons why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No response.
    #[error("the service did not respond: {0}")]
    Transport(#[from] reqwest::Error),
    /// The service refused the request.
    #[error("{method} {path} was refused with {status}: {message}")]
    Refused {
        /// Method.
        method: Method,
        /// Path.
        path: String,
        /// HTTP status.
        status: u16,
        /// `error.message`, with `error.fields` and `error.details` if there are any.
        message: String,
    },
    /// The response lacks the expected field.
    #[error("the service's response has no `{0}`")]
    Missing(&'static str),
}

/// Retries for a while if the service is overloaded (503).
async fn patiently<T, F: Future<Output = Result<T, ApiError>>>(ask: impl Fn() -> F) -> Result<T, ApiError> {
    for _ in 0..ASKED_AGAIN {
        match ask().await {
            Err(ApiError::Refused { status: 503, .. }) => tokio::time::sleep(ASKED_AGAIN_AFTER).await,
            answer => return answer,
        }
    }
    ask().await
}

/// A client with one account's key.
#[derive(Clone)]
pub struct ApiClient {
    http: reqwest::Client,
    base_url: String,
    api_key: String,
}

impl ApiClient {
    /// Creates a client of the service at `base_url` (no trailing slash).
    ///
    /// # Errors
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(base_url: impl Into<String>, api_key: impl Into<String>) -> Result<Self, ApiError> {
        let http = http_client::builder().timeout(Duration::from_secs(30)).build()?;
        Ok(Self {
            http,
            base_url: base_url.into(),
            api_key: api_key.into(),
        })
    }

    async fn send(&self, method: Method, path: &str, body: Body) -> Result<Value, ApiError> {
        Ok(self.send_timed(method, path, body).await?.1)
    }

    /// Returns the response and the time at which its head came.
    async fn send_timed(&self, method: Method, path: &str, body: Body) -> Result<(Timestamp, Value), ApiError> {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base_url));
        request = request.header("x-api-key", &self.api_key);
        request = match body {
            Body::None => request,
            Body::Json(value) => request.json(&value),
            Body::Form(form) => request.multipart(form),
        };
        let response = request.send().await?;
        let answered_at = SystemClock.now();
        let status = response.status();
        let answer: Value = response.json().await?;
        if status.is_success() {
            return Ok((answered_at, answer));
        }
        let error = &answer["error"];
        let mut message = error["message"].as_str().unwrap_or("no message").to_owned();
        for part in ["fields", "details"] {
            if !error[part].is_null() {
                message = format!(
                    "{message}\n{}",
                    serde_json::to_string_pretty(&error[part]).unwrap_or_default()
                );
            }
        }
        Err(ApiError::Refused {
            method,
            path: path.to_owned(),
            status: status.as_u16(),
            message,
        })
    }

    /// Sends a `GET`; returns the whole envelope.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        patiently(|| self.send(Method::GET, path, Body::None)).await
    }

    /// Sends a `POST` with a JSON body; returns the whole envelope.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn post(&self, path: &str, body: Value) -> Result<Value, ApiError> {
        self.send(Method::POST, path, Body::Json(body)).await
    }

    /// Sends a `POST` with a JSON body; returns the time at which the head of a successful response came.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn post_timed(&self, path: &str, body: Value) -> Result<Timestamp, ApiError> {
        Ok(self.send_timed(Method::POST, path, Body::Json(body)).await?.0)
    }

    /// Sends a `GET` for a text that is not JSON.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn text(&self, path: &str) -> Result<String, ApiError> {
        let bytes = self.bytes(path).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends a `GET` for a file.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        patiently(|| self.bytes_once(path)).await
    }

    async fn bytes_once(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        let request = self.http.get(format!("{}{path}", self.base_url));
        let response = request.header("x-api-key", &self.api_key).send().await?;
        let status = response.status();
        let bytes = response.bytes().await?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        Err(ApiError::Refused {
            method: Method::GET,
            path: path.to_owned(),
            status: status.as_u16(),
            message: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// Creates an agent and returns its id.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn create_agent(&self, agent: Value) -> Result<String, ApiError> {
        let answer = self.post("/public/v1/agents/create", agent).await?;
        text(&answer["data"], "agentId")
    }

    /// Creates a campaign from a CSV file and launches it.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn launch_csv(&self, name: &str, agent: &str, csv: Vec<u8>) -> Result<Launched, ApiError> {
        let form = campaign_form(name, agent, csv).text("launch", "true");
        let answer = self.send(Method::POST, CAMPAIGNS_CSV, Body::Form(form)).await?;
        Ok(Launched {
            campaign: text(&answer["data"], "campaignId")?,
            contacts: answer["data"]["contactCount"].as_u64().unwrap_or(0),
            warning: answer["warning"].as_str().map(str::to_owned),
        })
    }

    /// Creates a campaign from a large CSV file without launching it. Reads the response as it comes and
    /// returns the number of contacts in it.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn import_csv(&self, name: &str, agent: &str, csv: Vec<u8>) -> Result<u64, ApiError> {
        let url = format!("{}{CAMPAIGNS_CSV}", self.base_url);
        let request = self.http.post(url).multipart(campaign_form(name, agent, csv));
        let request = request.timeout(IMPORT_TIMEOUT).header("x-api-key", &self.api_key);
        let mut response = request.send().await?;
        let status = response.status().as_u16();
        if status != 201 {
            return Err(ApiError::Refused {
                method: Method::POST,
                path: CAMPAIGNS_CSV.to_owned(),
                status,
                message: response.text().await?,
            });
        }
        let mut contacts = 0;
        let mut text = Vec::new();
        while let Some(piece) = response.chunk().await? {
            text.extend_from_slice(&piece);
            contacts += text.windows(CONTACT.len()).filter(|bytes| *bytes == CONTACT).count() as u64;
            // The start of an occurrence may lie at the end of this piece.
            text.drain(..text.len().saturating_sub(CONTACT.len() - 1));
        }
        if text.ends_with(b"}") {
            Ok(contacts)
        } else {
            Err(ApiError::Missing("requestId"))
        }
    }

    /// Returns one campaign with its progress.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn campaign(&self, id: &str) -> Result<Value, ApiError> {
        Ok(self.get(&format!("/public/v1/campaigns/{id}")).await?["data"].take())
    }

    /// Returns every conversation of a campaign, in full detail, oldest first.
    ///
    /// # Errors
    /// Returns an [`ApiError`].
    pub async fn conversations(&self, campaign: &str) -> Result<Vec<Value>, ApiError> {
        let mut details = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/public/v1/conversations?campaignId={campaign}&pageSize=100{cursor}");
            let page = self.get(&path).await?;
            for item in page["data"].as_array().into_iter().flatten() {
                let id = text(item, "conversationId")?;
                let mut detail = self.get(&format!("/public/v1/conversations/{id}")).await?["data"].take();
                detail["conversationId"] = json!(id);
                details.push(detail);
            }
            match page["pagination"]["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        details.reverse();
        Ok(details)
    }
}

/// A campaign that was launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// Id.
    pub campaign: String,
    /// Number of contacts.
    pub contacts: u64,
    /// Warning about the campaign.
    pub warning: Option<String>,
}

fn campaign_form(name: &str, agent: &str, csv: Vec<u8>) -> multipart::Form {
    let file = multipart::Part::bytes(csv).file_name("contacts.csv");
    multipart::Form::new()
        .text("name", name.to_owned())
        .text("agentId", agent.to_owned())
        .part("file", file)
}

enum Body {
    None,
    Json(Value),
    Form(multipart::Form),
}

fn text(value: &Value, field: &'static str) -> Result<String, ApiError> {
    value[field].as_str().map(str::to_owned).ok_or(ApiError::Missing(field))
}
