//! The telephones behind the trunk: those of the exchange, called by it and, for calls that come in, by us.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{
        Path, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use media::{format::LineFormat, tone::generate};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use uuid::Uuid;

use super::{
    Switch,
    channels::{Beginning, Channel},
    lock,
    sound::{Converter, Sound},
};

/// A telephone's jitter buffer, in milliseconds.
const JITTER_MS: u64 = 100;
const SAMPLES_PER_MS: usize = 8;

/// Rings a number.
pub(super) async fn dial(switch: &Switch, channel: &Channel, (to, from): (&str, &str), ring_seconds: u64) {
    match ring(switch, channel, (to, from), ring_seconds).await {
        Some(line) => {
            let _ = channel.line.set(line);
            // It was hung up while the exchange took it.
            if channel.is_over() {
                hang_up(switch, channel).await;
            }
        }
        None => {
            switch.tell_dial(channel, "CONGESTION");
            switch.destroy(channel, (1, "Unallocated (unassigned) number"), Some(404));
        }
    }
}

/// A telephone calls: it hears us when it is answered. The id of its channel.
pub(super) async fn call_in(switch: &Arc<Switch>, from: &str, to: &str) -> String {
    let id = format!("1700000000.{}", Uuid::new_v4().as_u128() % 1_000_000);
    let channel = switch.make(Beginning {
        id: id.clone(),
        name: format!("PJSIP/{}-{id}", super::TRUNK),
        caller: from.to_owned(),
        exten: to.to_owned(),
        app: switch.app(),
        came_in: true,
    });
    if let Some(channel) = channel {
        match ring(switch, &channel, (from, to), 60).await {
            Some(line) => drop(channel.line.set(line)),
            None => switch.complain(format!("{from} is no telephone")),
        }
    }
    id
}

async fn ring(switch: &Switch, channel: &Channel, (to, from): (&str, &str), ring_seconds: u64) -> Option<String> {
    let hints = match switch.settings.personas.get(to) {
        None => json!({}),
        Some(script) if switch.settings.exchange.scripts.contains_key(script) => json!({ "script": script }),
        Some(persona) => json!({ "persona": persona }),
    };
    let body = json!({
        "to": to, "from": from, "attempt": channel.id, "ringTimeoutSeconds": ring_seconds,
        "statusUrl": format!("http://{}/exchange/status/{}", switch.own, channel.id),
        "streamUrl": format!("ws://{}/exchange/media/{}", switch.own, channel.id),
        "hints": hints,
    });
    let url = format!("{}/v1/calls", switch.exchange_url);
    let answer = switch.client.post(url).json(&body).send().await.ok()?;
    if answer.status() != StatusCode::CREATED {
        return None;
    }
    let said: Value = answer.json().await.ok()?;
    said["callId"].as_str().map(str::to_owned)
}

/// Hangs a telephone up.
pub(super) async fn hang_up(switch: &Switch, channel: &Channel) {
    let Some(line) = channel.line.get() else { return };
    let url = format!("{}/v1/calls/{line}", switch.exchange_url);
    if let Err(error) = switch.client.delete(url).send().await {
        switch.complain(format!("a telephone could not be hung up: {error}"));
    }
}

/// The tones of keys go to the telephone.
pub(super) fn play_keys(channel: &Channel, keys: &str) {
    for key in keys.chars() {
        for frame in generate::dtmf(key, 100).chunks(160) {
            let _ = channel.ears.try_send(Sound::Audio(frame.to_vec()));
        }
    }
}

/// What the exchange reports, in Asterisk's words.
pub(super) async fn report(
    State(switch): State<Arc<Switch>>,
    Path(id): Path<String>,
    Json(said): Json<Value>,
) -> StatusCode {
    let Some(channel) = switch.channel(&id) else {
        return StatusCode::NO_CONTENT;
    };
    match (said["status"].as_str(), channel.came_in) {
        (Some("ringing"), false) => {
            switch.becomes(&channel, "Ringing");
            switch.tell_dial(&channel, "RINGING");
        }
        (Some("answered"), false) => switch.answered(&channel),
        // Who calls has their receiver at the ear.
        (Some("answered"), true) => {
            switch.becomes(&channel, "Ring");
            switch.enter(&channel, &[]);
        }
        (Some("ended"), _) => ended(&switch, &channel, said["cause"].as_str().unwrap_or_default()),
        _ => {}
    }
    StatusCode::NO_CONTENT
}

fn ended(switch: &Switch, channel: &Channel, cause: &str) {
    let (status, cause, technical) = match cause {
        "completed" => ("", (16, "Normal Clearing"), None),
        "busy" => ("BUSY", (17, "User busy"), Some(486)),
        "no-answer" => ("NOANSWER", (0, "Unknown"), None),
        "rejected" => ("CONGESTION", (21, "Call Rejected"), Some(603)),
        "canceled" => ("CANCEL", (16, "Normal Clearing"), None),
        _ => ("CHANUNAVAIL", (38, "Network out of order"), Some(500)),
    };
    if !status.is_empty() && !channel.came_in {
        switch.tell_dial(channel, status);
    }
    switch.destroy(channel, cause, technical);
}

/// A telephone that was picked up.
pub(super) async fn open(
    State(switch): State<Arc<Switch>>,
    Path(id): Path<String>,
    socket: WebSocketUpgrade,
) -> Response {
    let Some(channel) = switch.channel(&id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some(mouth) = lock(&channel.mouth).take() else {
        return StatusCode::CONFLICT.into_response();
    };
    socket.on_upgrade(move |phone| talk(switch, channel, (phone, mouth)))
}

/// A telephone's voice, and what it is told.
struct Handset {
    stream: String,
    up: Converter,
    down: Converter,
    /// All that it was told is played by then.
    played_at: Instant,
}

async fn talk(switch: Arc<Switch>, channel: Arc<Channel>, (mut phone, mut mouth): (WebSocket, mpsc::Receiver<Sound>)) {
    let mut handset = Handset {
        stream: String::new(),
        up: Converter::from(LineFormat::MULAW_8000),
        down: Converter::to(LineFormat::MULAW_8000),
        played_at: Instant::now(),
    };
    loop {
        tokio::select! {
            message = phone.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    if let Some(sound) = handset.says(&text)
                        && channel.state() == "Up"
                    {
                        switch.says(&channel, &sound);
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            Some(sound) = mouth.recv() => {
                for text in handset.hears(sound) {
                    if phone.send(Message::Text(text.into())).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl Handset {
    fn says(&mut self, text: &str) -> Option<Sound> {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        match said["event"].as_str()? {
            "start" => {
                self.stream = said["streamSid"].as_str().unwrap_or_default().to_owned();
                None
            }
            "media" => {
                let payload = said["media"]["payload"].as_str().unwrap_or_default();
                Some(Sound::Audio(self.up.decode(&BASE64.decode(payload).ok()?)))
            }
            "dtmf" => said["dtmf"]["digit"].as_str()?.chars().next().map(Sound::Key),
            _ => None,
        }
    }

    /// What it is told, behind what its jitter buffer holds.
    fn hears(&mut self, sound: Sound) -> Vec<String> {
        let Sound::Audio(samples) = sound else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        let now = Instant::now();
        if self.played_at < now {
            let held = Duration::from_millis(JITTER_MS);
            self.played_at = now + held;
            texts.push(self.media(vec![0; SAMPLES_PER_MS * JITTER_MS as usize]));
        }
        self.played_at += Duration::from_millis((samples.len() / SAMPLES_PER_MS) as u64);
        texts.push(self.media(samples));
        texts
    }

    fn media(&mut self, samples: Vec<i16>) -> String {
        let payload = BASE64.encode(self.down.encode(samples));
        json!({ "event": "media", "streamSid": self.stream, "media": { "payload": payload } }).to_string()
    }
}
