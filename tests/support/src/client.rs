//! A client that checks every response against the rules of the envelope and the API's description.

use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::Value;

use super::{certificate::Pair, contract};

/// Sends requests with one account's key.
#[derive(Clone)]
pub struct Client {
    pub base: String,
    pub key: String,
    http: reqwest::Client,
}

/// A response below `/public`.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Client {
    pub fn new(base: &str, key: &str) -> Self {
        Self::with(net::http_client::builder(), base, key)
    }

    /// Creates a client of a service with this certificate.
    pub fn trusting(certificate: &Pair, base: &str, key: &str) -> Self {
        Self::with(certificate.http(), base, key)
    }

    fn with(http: reqwest::ClientBuilder, base: &str, key: &str) -> Self {
        let http = http
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0);
        Self {
            base: base.to_owned(),
            key: key.to_owned(),
            http: http.build().unwrap(),
        }
    }

    /// Builds a request without a key.
    pub fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.http.request(method, format!("{}{path}", self.base))
    }

    /// Builds a request with the key.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.bare(method, path).header("x-api-key", &self.key)
    }

    pub async fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        send(self.request("DELETE", path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        send(self.request("POST", path).json(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        send(self.request("PATCH", path).json(&body)).await
    }

    /// Posts a JSON body as given.
    pub async fn post_text(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request("POST", path).header("content-type", "application/json");
        send(request.body(body)).await
    }
}

/// Sends a request and checks the rules for every response.
pub async fn send(request: RequestBuilder) -> Answer {
    let (http, request) = request.build_split();
    let request = request.unwrap();
    let method = request.method().as_str().to_owned();
    let response = http.execute(request).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let path = response.url().path().to_owned();
    let text = response.text().await.unwrap();
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"));
    assert_eq!(headers["content-type"], "application/json", "{path}");
    assert_eq!(body["success"], status < 400, "{path}: {body}");
    assert_eq!(body.get("data").is_some(), status < 400, "{path}: {body}");
    assert_eq!(body.get("error").is_some(), status >= 400, "{path}: {body}");
    if status >= 400 {
        assert_eq!(body["error"]["status"], status, "{path}: {body}");
        assert!(!body["error"]["message"].as_str().unwrap().is_empty(), "{path}: {body}");
    }
    let id = headers["x-request-id"].to_str().unwrap();
    let shown = path.starts_with("/public/v1/campaigns") || path.starts_with("/public/v1/contacts");
    let expected = if shown { Value::from(id) } else { Value::Null };
    assert_eq!(body["requestId"], expected, "{path}: {body}");
    assert_eq!(body.get("requestId").is_some(), shown, "{path}: {body}");
    contract::check(&method, &path, status, "application/json", Some(&body));
    Answer { status, headers, body }
}

impl Answer {
    /// Asserts the status; shows the body if it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or("")
    }

    /// Returns the paths and codes of `error.fields`.
    pub fn fields(&self) -> Vec<(&str, &str)> {
        let fields = self.body["error"]["fields"].as_array();
        let fields = fields.map(Vec::as_slice).unwrap_or_default();
        fields
            .iter()
            .map(|field| (field["path"].as_str().unwrap(), field["code"].as_str().unwrap()))
            .collect()
    }

    pub fn text(&self, pointer: &str) -> String {
        let value = self.body.pointer(pointer).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("no {pointer} in {}", self.body))
            .to_owned()
    }
}
