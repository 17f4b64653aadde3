//! The phones behind a stub carrier: those of an exchange of its own, which are told to call at the stub's address.

use std::{collections::BTreeMap, io, sync::OnceLock};

use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::StubCarrierSettings;
use crate::exchange::{Exchange, ExchangeHandle, ExchangeSettings, LogEntry};
use net::http_client;

/// An exchange and who is at home there.
pub struct Phones {
    exchange: ExchangeHandle,
    client: Client,
    personas: BTreeMap<String, String>,
    /// Names of scripts.
    scripts: Vec<String>,
}

/// What a phone's line tells the stub.
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

/// How a phone's line ended.
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

/// A telephone that is to ring.
pub struct Phone<'a> {
    pub number: &'a str,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub persona: Option<&'a String>,
    pub ring_seconds: f64,
}

/// Why nobody is called.
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

    /// What phones said and heard.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.exchange.entries()
    }

    /// Calls that ring or talk.
    pub fn live_calls(&self) -> usize {
        self.exchange.live_calls()
    }

    /// Calls a number; the exchange's id of the call. Reports and the phone's socket come to `here`, below the call's
    /// `key`.
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

    /// Ends a call, if it is there.
    pub async fn hang_up(&self, line: &OnceLock<String>) {
        let Some(call) = line.get() else { return };
        let url = format!("{}/v1/calls/{call}", self.exchange.url());
        if let Err(error) = self.client.delete(url).send().await {
            tracing::warn!(%error, "a phone could not be hung up");
        }
    }
}
