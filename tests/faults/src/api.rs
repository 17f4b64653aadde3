//! Client of the service's REST API that knows several nodes: if one does not answer, it tries the next.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};

use crate::http::{self, Ask};

const WITHIN: Duration = Duration::from_secs(10);
const BOUNDARY: &str = "part-of-a-form-of-the-faults";

/// Errors of valid requests that were refused or broke.
#[derive(Debug, Clone, Default)]
pub struct Failures(Arc<Mutex<Vec<String>>>);

impl Failures {
    fn add(&self, failure: &io::Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(failure.to_string());
    }

    /// Returns all errors so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A client.
#[derive(Clone)]
pub struct Api {
    pub nodes: Vec<SocketAddr>,
    pub failures: Failures,
    pub key: String,
}

/// A campaign to launch.
pub struct Launch<'a> {
    pub name: &'a str,
    pub agent: &'a str,
    pub csv: String,
}

impl Api {
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> io::Result<Value> {
        let mut failed = io::Error::other("no node to ask");
        for node in &self.nodes {
            let url = format!("http://{node}/public/v1{path}");
            let mut all = vec![("x-api-key", &*self.key)];
            all.extend_from_slice(headers);
            let answer = http::send(Ask {
                method,
                url: &url,
                headers: &all,
                body: body.clone(),
                within: WITHIN,
            });
            match answer.await {
                Ok((status, body)) if status < 300 => return serde_json::from_slice(&body).map_err(Into::into),
                Ok((status, body)) => {
                    let text = String::from_utf8_lossy(&body);
                    failed = io::Error::other(format!("{method} {path}: {status} {text}"));
                    if status < 500 && status != 429 {
                        return Err(failed);
                    }
                    self.failures.add(&failed);
                }
                Err(error) => {
                    failed = io::Error::new(error.kind(), format!("{method} {path} at {node}: {error}"));
                    self.failures.add(&failed);
                }
            }
        }
        Err(failed)
    }

    /// Sends a `GET`.
    pub async fn get(&self, path: &str) -> io::Result<Value> {
        self.send("GET", path, &[], Vec::new()).await
    }

    /// Sends a `POST` of JSON.
    pub async fn post(&self, path: &str, body: Value) -> io::Result<Value> {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().into_bytes()).await
    }

    /// Creates an agent that greets and listens, with `webhook` for its calls; returns its id.
    pub async fn agent(&self, webhook: &str, retries: u32) -> io::Result<String> {
        let agent = json!({
            "name": format!("Faults, {retries} retries"),
            "direction": "both",
            "conversationConfig": {
                "agent": {
                    "prompt": {
                        "prompt": "Ask for the caller's name.",
                        "builtInTools": { "endCall": { "enabled": true } }
                    },
                    "greetingMessage": "Hello."
                },
                "turn": { "silenceEndCallTimeout": 8 }
            },
            "platformSettings": {
                "callActions": { "postCallWebhook": webhook },
                "callRetry": { "retryCount": retries, "retryDelay": 0 }
            },
        });
        let made = self.post("/agents/create", agent).await?;
        text(&made["data"]["agentId"])
    }

    /// Launches a campaign, only once even if it is retried; returns its id.
    pub async fn launch(&self, launch: &Launch<'_>) -> io::Result<String> {
        let mut form = Vec::new();
        for (name, value) in [("name", launch.name), ("agentId", launch.agent), ("launch", "true")] {
            let part = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            form.extend_from_slice(part.as_bytes());
        }
        let file = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"contacts.csv\"\r\n\
             content-type: text/csv\r\n\r\n{}\r\n--{BOUNDARY}--\r\n",
            launch.csv
        );
        form.extend_from_slice(file.as_bytes());
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let headers = [("content-type", &*kind), ("idempotency-key", launch.name)];
        let made = self.send("POST", "/campaigns/csv", &headers, form).await?;
        text(&made["data"]["campaignId"])
    }

    /// Returns one campaign.
    pub async fn campaign(&self, id: &str) -> io::Result<Value> {
        Ok(self.get(&format!("/campaigns/{id}")).await?["data"].take())
    }

    /// Returns the number and status of each contact of a campaign.
    pub async fn contacts(&self, campaign: &str) -> io::Result<Vec<(String, String)>> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/campaigns/{campaign}/contacts?pageSize=100{cursor}");
            let page = self.get(&path).await?;
            for contact in page["data"].as_array().into_iter().flatten() {
                all.push((text(&contact["phoneNumber"])?, text(&contact["status"])?));
            }
            match page["pagination"]["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }
}

pub fn text(value: &Value) -> io::Result<String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::other("a field is missing in the service's answer"))
}
