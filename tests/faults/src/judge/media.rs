//! The media socket of a call whose callee says nothing.

use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        http::{HeaderName, HeaderValue},
    },
};
use uuid::Uuid;

use super::{ACCOUNT, Judge, call::Call, call::sign};
use crate::journal::Event;

/// 20 ms of silence in mu-law.
const SILENCE: [u8; 160] = [0xff; 160];
/// Longest wait for a socket to open.
const OPENS_WITHIN: Duration = Duration::from_secs(10);

/// Streams until the service closes the socket, or the socket cannot be used.
pub async fn stream(judge: &Judge, call: &Call, url: &str) {
    let opened = timeout(OPENS_WITHIN, open(url)).await;
    let (socket, answer) = match opened {
        Ok(Ok(socket)) => (Some(socket), 101),
        Ok(Err(Error::Http(refused))) => (None, refused.status().as_u16()),
        Ok(Err(_)) | Err(_) => (None, 0),
    };
    let _ = judge.journal.write(Event::Media {
        call: call.order.sid.clone(),
        attempt: call.order.attempt.clone(),
        answer,
    });
    if let Some(socket) = socket {
        let _ = talk(socket, judge, call).await;
        call.sound().clear(Instant::now());
        // Not reached if the callee hangs up first.
        let _ = judge.journal.write(Event::Left {
            call: call.order.sid.clone(),
            attempt: call.order.attempt.clone(),
        });
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn open(url: &str) -> Result<Socket, Error> {
    let mut request = url.into_client_request()?;
    let signature = HeaderValue::from_str(&sign(url, &[])).unwrap_or_else(|_| HeaderValue::from_static(""));
    request
        .headers_mut()
        .insert(HeaderName::from_static("x-twilio-signature"), signature);
    Ok(connect_async(request).await?.0)
}

/// Takes a message about the audio that the callee hears.
fn hear(call: &Call, said: &Value) {
    match said["event"].as_str() {
        Some("media") => {
            let payload = said["media"]["payload"].as_str().unwrap_or_default();
            let mulaw = BASE64.decode(payload).unwrap_or_default();
            call.sound().add(&mulaw, Instant::now());
        }
        Some("clear") => call.sound().clear(Instant::now()),
        _ => {}
    }
}

async fn talk(mut socket: Socket, judge: &Judge, call: &Call) -> Result<(), Error> {
    let mut spoke = false;
    let stream = format!("MZ{}", Uuid::new_v4().simple());
    let connected = json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" });
    socket.send(Message::text(connected.to_string())).await?;
    let start = json!({
        "accountSid": ACCOUNT, "streamSid": stream, "callSid": call.order.sid, "tracks": ["inbound"],
        "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 }, "customParameters": {},
    });
    let mut sent = 1_u64;
    let numbered = |sent: u64, mut message: Value| {
        message["sequenceNumber"] = json!(sent.to_string());
        message["streamSid"] = json!(stream);
        Message::text(message.to_string())
    };
    socket
        .send(numbered(sent, json!({ "event": "start", "start": start })))
        .await?;
    let payload = BASE64.encode(SILENCE);
    let mut frames = interval(Duration::from_millis(20));
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = frames.tick() => {
                sent += 1;
                let media = json!({
                    "track": "inbound", "chunk": (sent - 1).to_string(),
                    "timestamp": ((sent - 2) * 20).to_string(), "payload": payload,
                });
                socket.send(numbered(sent, json!({ "event": "media", "media": media }))).await?;
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let said: Value = serde_json::from_str(text.as_str()).unwrap_or_default();
                    hear(call, &said);
                    if said["event"] == "media" && !std::mem::replace(&mut spoke, true) {
                        let _ = judge.journal.write(Event::Spoke {
                            call: call.order.sid.clone(),
                            attempt: call.order.attempt.clone(),
                        });
                    }
                    if said["event"] == "mark" {
                        sent += 1;
                        socket.send(numbered(sent, json!({ "event": "mark", "mark": said["mark"] }))).await?;
                    }
                }
                None | Some(Ok(Message::Close(_)) | Err(_)) => return Ok(()),
                Some(Ok(_)) => {}
            },
        }
    }
}
