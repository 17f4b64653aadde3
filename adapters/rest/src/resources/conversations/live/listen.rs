//! `GET /public/v1/conversations/{conversationId}/listen`: a WebSocket with the audio of a live call.

use std::time::Duration;

use actors::live_feed::{Following, LiveAudio, LiveEvent};
use axum::{
    extract::{
        State,
        ws::{Message, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use domain::id::AttemptId;
use media::{frames::FRAME_MS, listener_audio::ListenerAudio};
use peers::Shown;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    sync::{
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
        watch,
    },
    time::{MissedTickBehavior, interval},
};

use super::{
    socket::{Format, Goodbye, LiveSocket, come_again, open},
    tickets::{TicketParameters, admit, elsewhere, no_longer_allowed},
    watch::{follow, stopped},
};
use crate::{
    request::{path_id::PathId, query::Query},
    response::error::ApiResult,
    state::{
        RestState,
        live_access::{Bearer, TicketPurpose},
    },
};

/// Maximum size of a listener's message.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Time after which a socket that accepts no bytes is given up.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// Interval at which audio is sent: a wake-up and a write for each frame would cost five times as much.
const SEND_INTERVAL: Duration = Duration::from_millis(100);

type Pieces = broadcast::Receiver<LiveAudio>;

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
    let place = state.live.listener(bearer.account)?;
    open(
        socket,
        (MAX_MESSAGE_BYTES, WRITE_WITHIN),
        move |mut socket| async move {
            let goodbye = attend(&mut socket, &state, (id, bearer)).await;
            drop(place);
            socket.close(goodbye).await;
        },
    )
}

/// Serves a listener until the call or the socket ends.
async fn attend(socket: &mut LiveSocket, state: &RestState, (id, bearer): (AttemptId, Bearer)) -> Goodbye {
    let start: Start = match socket.start().await {
        Ok(start) => start,
        Err(goodbye) => return goodbye,
    };
    let apart = start.channels == Channels::Apart;
    let audio = match start.format.line() {
        Some(line) => ListenerAudio::new(line, apart),
        None => match ListenerAudio::opus(apart) {
            Ok(audio) => audio,
            Err(error) => return Some((close_code::ERROR, format!("no Opus: {error}").into())),
        },
    };
    let Ok(following) = follow(state, id, Some(bearer.by.clone())).await else {
        return come_again();
    };
    let ready = json!({ "event": "ready", "format": start.format, "channels": start.channels });
    if !socket.tell(&ready).await {
        return None;
    }
    tokio::select! {
        goodbye = run(socket, state.stopping.clone(), following, audio) => goodbye,
        goodbye = no_longer_allowed(state, &bearer) => goodbye,
    }
}

/// Passes audio and events on.
async fn run(
    socket: &mut LiveSocket,
    mut stopping: watch::Receiver<bool>,
    following: Following,
    mut audio: ListenerAudio,
) -> Goodbye {
    let (mut events, (mut pieces, _place)) = (following.events, following.audio?);
    let mut clock = interval(SEND_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Ok(LiveEvent::End) => {
                    // The last pieces, if the feed is still there.
                    let _ = pass_on(socket, &mut audio, &mut pieces).await;
                    socket.tell(&json!({ "event": "end" })).await;
                    return Some((close_code::NORMAL, "the call is over".into()));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return come_again(),
            },
            _ = clock.tick() => if let Err(goodbye) = pass_on(socket, &mut audio, &mut pieces).await {
                return goodbye;
            },
            message = socket.receive() => match message {
                Some(Message::Text(_) | Message::Binary(_)) => {
                    return Some((close_code::POLICY, "a listener sends nothing after `start`".into()));
                }
                Some(_) => {}
                None => return None,
            },
            () = stopped(&mut stopping) => return come_again(),
        }
    }
}

/// Sends what the call has fed since the last time.
///
/// # Errors
///
/// Returns the reason to close the socket, once the feed or the client is gone.
async fn pass_on(socket: &mut LiveSocket, audio: &mut ListenerAudio, pieces: &mut Pieces) -> Result<(), Goodbye> {
    let mut messages = Vec::new();
    loop {
        match pieces.try_recv() {
            Ok(piece) => {
                // Lines run at rates that can be converted.
                audio.push(piece.sample_rate, &piece.samples).map_err(|_| None)?;
                messages.extend(std::iter::from_fn(|| audio.next_frame()).map(|frame| Message::Binary(frame.into())));
            }
            Err(TryRecvError::Empty) => break,
            Err(TryRecvError::Lagged(lost)) => {
                // The pieces that still wait are old, so the listener goes on with the present.
                let lost = (lost + pieces.len() as u64) * u64::from(FRAME_MS);
                *pieces = pieces.resubscribe();
                messages.push(json!({ "event": "lost", "milliseconds": lost }).to_string().into());
            }
            Err(TryRecvError::Closed) => return Err(come_again()),
        }
    }
    match socket.send_all(messages).await {
        true => Ok(()),
        false => Err(None),
    }
}
