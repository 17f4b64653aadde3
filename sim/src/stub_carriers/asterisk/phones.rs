//! Telephones behind the trunk. They belong to the exchange, which calls them; inbound calls are made by the stub.

use std::{sync::Arc, time::Duration};

use axum::extract::ws::{Message, WebSocket};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use media::{format::LineFormat, tone::generate};
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    channels::{Beginning, Channel},
    sound::Sound,
    stub::{Asterisk, TRUNK},
};
use crate::stub_carriers::{
    base::phones::{Cause, Phone, Progress},
    settings::locked,
    sound::Converter,
};

/// Jitter buffer of a telephone, in milliseconds.
const JITTER_MS: u64 = 100;
const SAMPLES_PER_MS: usize = 8;

/// Rings a number.
pub(super) async fn dial(stub: &Asterisk, channel: &Channel, to: &str, ring_seconds: u64) {
    match ring(stub, channel, to, ring_seconds).await {
        Some(line) => {
            let _ = channel.line.set(line);
            // It was hung up while the exchange accepted it.
            if channel.is_over() {
                stub.base.phones.hang_up(&channel.line).await;
            }
        }
        None => {
            stub.tell_dial(channel, "CONGESTION");
            stub.destroy(channel, 1, "Unallocated (unassigned) number", Some(404));
        }
    }
}

/// Makes a telephone call; the telephone hears audio once the call is answered. Returns the id of its channel.
pub(super) async fn call_in(stub: &Arc<Asterisk>, from: &str, to: &str) -> String {
    let id = format!("1700000000.{}", Uuid::new_v4().as_u128() % 1_000_000);
    let channel = stub.make(Beginning {
        id: id.clone(),
        name: format!("PJSIP/{TRUNK}-{id}"),
        caller: from.to_owned(),
        exten: to.to_owned(),
        app: stub.app(),
        came_in: true,
    });
    if let Some(channel) = channel {
        match ring(stub, &channel, from, 60).await {
            Some(line) => drop(channel.line.set(line)),
            None => stub.base.complain(format!("{from} is no telephone")),
        }
    }
    id
}

async fn ring(stub: &Asterisk, channel: &Channel, number: &str, ring_seconds: u64) -> Option<String> {
    let phone = Phone {
        number,
        persona: None,
        ring_seconds: ring_seconds as f64,
    };
    stub.base.phones.call(&stub.base.here(), &channel.id, phone).await.ok()
}

/// Plays the tones of keys to the telephone.
pub(super) fn play_keys(channel: &Channel, keys: &str) {
    for key in keys.chars() {
        for frame in generate::dtmf(key, 100).chunks(160) {
            let _ = channel.to_channel.try_send(Sound::Audio(frame.to_vec()));
        }
    }
}

/// Translates a report of the exchange to Asterisk's events.
pub(super) fn report(stub: &Asterisk, channel: &Channel, progress: Progress) {
    match (progress, channel.came_in) {
        (Progress::Ringing, false) => {
            stub.becomes(channel, "Ringing");
            stub.tell_dial(channel, "RINGING");
        }
        (Progress::Ringing, true) => {}
        (Progress::Answered, false) => stub.answered(channel),
        // A caller already holds the phone, so its own pick-up is not an answer.
        (Progress::Answered, true) => {
            stub.becomes(channel, "Ring");
            stub.enter(channel, &[]);
        }
        (Progress::Ended { cause }, _) => ended(stub, channel, cause),
    }
}

fn ended(stub: &Asterisk, channel: &Channel, cause: Cause) {
    let (status, cause, words, technical) = match cause {
        Cause::Completed => ("", 16, "Normal Clearing", None),
        Cause::Busy => ("BUSY", 17, "User busy", Some(486)),
        Cause::NoAnswer => ("NOANSWER", 0, "Unknown", None),
        Cause::Rejected => ("CONGESTION", 21, "Call Rejected", Some(603)),
        Cause::Canceled => ("CANCEL", 16, "Normal Clearing", None),
        Cause::Failed => ("CHANUNAVAIL", 38, "Network out of order", Some(500)),
    };
    if !status.is_empty() && !channel.came_in {
        stub.tell_dial(channel, status);
    }
    stub.destroy(channel, cause, words, technical);
}

/// Audio both ways of a telephone.
struct Handset {
    stream: String,
    up: Converter,
    down: Converter,
    /// Time at which everything sent to it has been played.
    played_at: Instant,
}

/// Talks with a telephone that was picked up.
pub(super) async fn talk(stub: Arc<Asterisk>, channel: Arc<Channel>, mut phone: WebSocket) {
    let Some(mut from_channel) = locked(&channel.from_channel).take() else {
        return;
    };
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
                        stub.says(&channel, &sound);
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            Some(sound) = from_channel.recv() => {
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

    /// Returns the messages for a sound, after the audio in its jitter buffer.
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
