//! The phones behind a stub carrier: those of an exchange of its own, which are told to call at the stub's address.

use std::{collections::BTreeMap, io, sync::Arc};

use domain::time::Clock;
use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEntry, Script};
use net::http_client;

/// An exchange and who is at home there.
pub(super) struct Phones {
    exchange: ExchangeHandle,
    client: Client,
    personas: BTreeMap<String, String>,
    /// Names of scripts.
    scripts: Vec<String>,
}

/// What a phone's line tells the stub.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) progress: Progress,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(super) enum Progress {
    Ringing,
    Answered,
    Ended { cause: String },
}

/// A telephone that is to ring.
pub(super) struct Phone<'a> {
    pub(super) number: &'a str,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub(super) persona: Option<&'a String>,
    pub(super) ring_seconds: f64,
}

/// Why nobody is called.
#[derive(Debug)]
pub(super) enum Refused {
    NoNumber,
    Other(String),
}

impl Phones {
    pub(super) async fn start(
        clock: Arc<dyn Clock>,
        personas: BTreeMap<String, String>,
        scripts: BTreeMap<String, Script>,
    ) -> io::Result<Self> {
        let names = scripts.keys().cloned().collect();
        let settings = ExchangeSettings {
            clock,
            scripts,
            ..ExchangeSettings::on_loopback()
        };
        let exchange = Exchange::start(settings).await.map_err(io::Error::other)?;
        let client = http_client::builder().build().map_err(io::Error::other)?;
        Ok(Self {
            exchange,
            client,
            personas,
            scripts: names,
        })
    }

    /// What phones said and heard.
    pub(super) fn entries(&self) -> Vec<LogEntry> {
        self.exchange.entries()
    }

    /// Calls that ring or talk.
    pub(super) fn live_calls(&self) -> usize {
        self.exchange.live_calls()
    }

    /// Calls a number; the exchange's id of the call. Reports and the phone's socket come to `here`, below the call's
    /// `key`.
    pub(super) async fn call(&self, here: &str, key: &str, phone: Phone<'_>) -> Result<String, Refused> {
        let Phone {
            number: to,
            persona,
            ring_seconds,
        } = phone;
        let of_name = |name| {
            if self.scripts.contains(name) {
                "script"
            } else {
                "persona"
            }
        };
        let named = persona
            .or_else(|| self.personas.get(to))
            .map(|name| (of_name(name), name));
        let hints: BTreeMap<&str, &String> = named.into_iter().collect();
        let body = json!({
            "to": to, "attempt": key, "ringTimeoutSeconds": ring_seconds, "hints": hints,
            "statusUrl": format!("{here}/phones/{key}/status"),
            "streamUrl": format!("{}/phones/{key}/media", here.replacen("http", "ws", 1)),
        });
        let other = |error: reqwest::Error| Refused::Other(error.to_string());
        let url = format!("{}/v1/calls", self.exchange.url());
        let answer = self.client.post(url).json(&body).send().await.map_err(other)?;
        let status = answer.status();
        let said: Value = answer.json().await.map_err(other)?;
        match (status, said["callId"].as_str()) {
            (StatusCode::CREATED, Some(call)) => Ok(call.to_owned()),
            _ if said["code"] == "invalid_number" => Err(Refused::NoNumber),
            _ => Err(Refused::Other(said.to_string())),
        }
    }

    /// Ends a call, if it is there.
    pub(super) async fn hang_up(&self, call: &str) {
        let url = format!("{}/v1/calls/{call}", self.exchange.url());
        if let Err(error) = self.client.delete(url).send().await {
            tracing::warn!(%error, "a phone could not be hung up");
        }
    }
}
