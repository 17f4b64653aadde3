//! `GET /public/v1/conversations/{conversationId}/listen`: a WebSocket with the audio of a live call.

use std::{borrow::Cow, time::Duration};

use actors::live_feed::{Following, LiveAudio, LiveEvent};
use axum::{
    extract::{
        State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use domain::id::AttemptId;
use media::{
    format::{Encoding, LineFormat},
    listener_audio::{FRAME_MS, ListenerAudio},
};
use peers::Shown;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, broadcast::error::RecvError, watch},
    time::timeout,
};

use super::{
    live_tickets::{Bearer, TicketParameters, TicketPurpose, admit, elsewhere},
    watch::{follow, stopped},
};
use crate::{
    RestState,
    error::{ApiError, ApiResult},
    path_id::PathId,
    query::Query,
};

/// Maximum size of a listener's message.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Maximum size of the output that waits for a socket, beside the frames in the call's channel.
const MAX_WRITE_BUFFER_BYTES: usize = 64 * 1024;
/// Time limit for the `start` message.
const START_WITHIN: Duration = Duration::from_secs(10);
/// Time after which a socket that accepts no bytes is given up.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// Time that the client has to close after us.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Close code for a listener that gets a new ticket and opens another WebSocket.
const COME_AGAIN: u16 = close_code::RESTART;

/// Format of the audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Format {
    #[serde(rename = "pcm_16000")]
    Pcm16,
    #[serde(rename = "pcm_8000")]
    Pcm8,
    #[serde(rename = "mulaw_8000")]
    MuLaw8,
}

impl Format {
    fn line(self) -> LineFormat {
        let linear = |sample_rate| LineFormat {
            encoding: Encoding::Linear16,
            sample_rate,
        };
        match self {
            Self::Pcm16 => linear(16_000),
            Self::Pcm8 => linear(8_000),
            Self::MuLaw8 => LineFormat::MULAW_8000,
        }
    }
}

/// Arrangement of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Channels {
    Mixed,
    Apart,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StartEvent {
    Start,
}

/// First message of a listener.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    #[serde(rename = "event")]
    _event: StartEvent,
    format: Format,
    channels: Channels,
}

/// Reason why a WebSocket is closed: code and text. `None` if the client is gone.
type Goodbye = Option<(u16, Cow<'static, str>)>;

/// Handles the request.
pub async fn listen(
    State(state): State<RestState>,
    PathId(id): PathId<AttemptId>,
    Query(ticket): Query<TicketParameters>,
    (uri, headers): (Uri, HeaderMap),
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    if let Some(elsewhere) = elsewhere(&state, id, Shown::Unchecked).await? {
        return Ok(elsewhere.follows().into_response());
    }
    let bearer = admit(&state, (id, TicketPurpose::Listen), &ticket, (&uri, &headers)).await?;
    let socket = socket.map_err(|refused| ApiError::Malformed(format!("open a WebSocket here: {refused}")))?;
    let place = state.live.listener()?;
    Ok(socket
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(socket, state, (id, bearer), place)))
}

async fn serve(mut socket: WebSocket, state: RestState, call: (AttemptId, Bearer), place: OwnedSemaphorePermit) {
    let goodbye = attend(&mut socket, &state, call).await;
    drop(place);
    let Some((code, reason)) = goodbye else { return };
    let frame = CloseFrame {
        code,
        reason: reason.as_ref().into(),
    };
    let close = async {
        // The answer is awaited, because closing a connection with unread input discards written output.
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    let _ = timeout(CLOSE_WITHIN, close).await;
}

/// Serves a listener until the call or the socket ends.
async fn attend(socket: &mut WebSocket, state: &RestState, (id, bearer): (AttemptId, Bearer)) -> Goodbye {
    let start = match timeout(START_WITHIN, start(socket)).await {
        Ok(Ok(start)) => start,
        Ok(Err(goodbye)) => return goodbye,
        Err(_) => return Some((close_code::POLICY, "no `start` came within 10 s".into())),
    };
    let Ok(following) = follow(state, id, Some(bearer.by)).await else {
        return come_again();
    };
    let ready = json!({ "event": "ready", "format": start.format, "channels": start.channels });
    if !tell(socket, &ready).await {
        return None;
    }
    run(socket, state.stopping.clone(), following, &start).await
}

fn come_again() -> Goodbye {
    Some((
        COME_AGAIN,
        "the call is over or at another node, or this node stops: get a new ticket".into(),
    ))
}

async fn start(socket: &mut WebSocket) -> Result<Start, Goodbye> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) => {
                return serde_json::from_str(&text).map_err(|error| {
                    // A close frame holds up to 123 bytes of reason.
                    let reason: String = format!("`start`: {error}").chars().take(100).collect();
                    let fits = reason.len() <= 120;
                    let reason = if fits { reason.into() } else { "`start` is wrong".into() };
                    Some((close_code::POLICY, reason))
                });
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Binary(_))) => {
                return Err(Some((close_code::POLICY, "the first message must be `start`".into())));
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(None),
        }
    }
}

/// Passes audio and events on.
async fn run(
    socket: &mut WebSocket,
    mut stopping: watch::Receiver<bool>,
    following: Following,
    start: &Start,
) -> Goodbye {
    let Following { mut events, audio, .. } = following;
    let (mut frames, _place) = audio?;
    let mut audio = ListenerAudio::new(start.format.line(), start.channels == Channels::Apart);
    loop {
        tokio::select! {
            biased;
            frame = frames.recv() => match frame {
                Ok(frame) => {
                    if !play(socket, &mut audio, &frame).await {
                        return None;
                    }
                }
                Err(RecvError::Lagged(lost)) => {
                    // What still waits is old, so the listener goes on with the present.
                    let lost = (lost + frames.len() as u64) * u64::from(FRAME_MS);
                    frames = frames.resubscribe();
                    if !tell(socket, &json!({ "event": "lost", "milliseconds": lost })).await {
                        return None;
                    }
                }
                Err(RecvError::Closed) => return come_again(),
            },
            event = events.recv() => match event {
                Ok(LiveEvent::End) => {
                    tell(socket, &json!({ "event": "end" })).await;
                    return Some((close_code::NORMAL, "the call is over".into()));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return come_again(),
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    return Some((close_code::POLICY, "a listener sends nothing after `start`".into()));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            },
            () = stopped(&mut stopping) => return come_again(),
        }
    }
}

/// Sends the frames that a piece of audio completes. Returns false if the client is gone.
async fn play(socket: &mut WebSocket, audio: &mut ListenerAudio, piece: &LiveAudio) -> bool {
    // Lines run at rates that can be converted.
    if audio.push(piece.sample_rate, &piece.samples).is_err() {
        return false;
    }
    while let Some(frame) = audio.next_frame() {
        if !send(socket, Message::Binary(frame.into())).await {
            return false;
        }
    }
    true
}

async fn tell(socket: &mut WebSocket, event: &Value) -> bool {
    send(socket, Message::Text(event.to_string().into())).await
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(WRITE_WITHIN, socket.send(message)).await, Ok(Ok(())))
}
