//! The phones behind a stub carrier. They belong to the stub's own exchange, which is told to open their
//! media at the stub's address.

use std::{collections::BTreeMap, io, sync::OnceLock};

use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEntry};
use crate::stub_carriers::settings::StubCarrierSettings;
use net::http_client;

/// An exchange and its callees.
pub struct Phones {
    exchange: ExchangeHandle,
    client: Client,
    personas: BTreeMap<String, String>,
    /// Names of scripts.
    scripts: Vec<String>,
}

/// Report of a phone's line to the stub.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    #[serde(flatten)]
    pub progress: Progress,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Progress {
    Ringing,
    Answered,
    Ended { cause: Cause },
}

/// Cause of the end of a phone's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    Completed,
    Busy,
    NoAnswer,
    Rejected,
    Canceled,
    #[serde(other)]
    Failed,
}

/// A telephone to ring.
pub struct Phone<'a> {
    pub number: &'a str,
    /// Persona of the callee; `None` leaves it to the stub's settings or the number's last digit.
    pub persona: Option<&'a String>,
    pub ring_seconds: f64,
}

/// Reasons why nobody is called.
#[derive(Debug)]
pub enum Refused {
    NoNumber,
    Other(String),
}

impl Phones {
    pub async fn start(settings: &StubCarrierSettings) -> io::Result<Self> {
        let of_exchange = ExchangeSettings::on_loopback();
        let of_exchange = ExchangeSettings {
            clock: settings.clock.clone(),
            scripts: settings.scripts.clone(),
            keep_audio: settings.keep_audio,
            pick_up: settings.pick_up.clone().unwrap_or(of_exchange.pick_up),
            ..of_exchange
        };
        Ok(Self {
            exchange: Exchange::start(of_exchange).await.map_err(io::Error::other)?,
            client: http_client::builder().build().map_err(io::Error::other)?,
            personas: settings.personas.clone(),
            scripts: settings.scripts.keys().cloned().collect(),
        })
    }

    /// Returns the record of the phones' speech and hearing.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.exchange.entries()
    }

    /// Returns the audio that a phone has played.
    pub fn played(&self, number: &str) -> Vec<i16> {
        self.exchange.played(number)
    }

    /// Returns the number of calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.exchange.live_calls()
    }

    /// Calls a number and returns the exchange's id of the call. Reports and the phone's socket go to `here`,
    /// below the call's `key`.
    pub async fn call(&self, here: &str, key: &str, phone: Phone<'_>) -> Result<String, Refused> {
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

    /// Ends a call, if it exists.
    pub async fn hang_up(&self, line: &OnceLock<String>) {
        let Some(call) = line.get() else { return };
        let url = format!("{}/v1/calls/{call}", self.exchange.url());
        if let Err(error) = self.client.delete(url).send().await {
            tracing::warn!(%error, "phone hangup failed");
        }
    }
}
