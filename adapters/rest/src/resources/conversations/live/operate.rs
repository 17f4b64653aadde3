//! `GET /public/v1/conversations/{conversationId}/operate`: a WebSocket over which an operator takes a live call over.

use std::{pin::pin, time::Duration};

use actors::call::{OperateRefusal, OperatorLine};
use axum::{
    body::Bytes,
    extract::{
        State,
        ws::{Message, WebSocketUpgrade, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use domain::{id::AttemptId, text::plain};
use peers::Shown;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{
    operator_audio::OperatorAudio,
    socket::{Format, Goodbye, LiveSocket, come_again, open},
    tickets::{TicketParameters, admit, elsewhere, no_longer_allowed},
};
use crate::{
    request::{path_id::PathId, query::Query},
    response::error::{ApiError, ApiResult, Conflict},
    state::{
        RestState,
        live_access::{Bearer, TicketPurpose},
    },
};

/// Maximum size of an operator's message: a frame is 640 bytes, and a note may have 1,000 characters.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// Time without audio, answers to pings or other messages after which an operator counts as lost.
const SILENT_FOR: Duration = Duration::from_secs(2);
/// Time after which a socket that accepts no bytes is given up. With [`SILENT_FOR`] the agent is back within 3 s.
const WRITE_WITHIN: Duration = Duration::from_millis(500);
/// Interval of pings, and of looks at what was lost.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Maximum characters of a note.
const NOTE_CHARACTERS: usize = 1_000;

/// First message of an operator.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", deny_unknown_fields)]
enum First {
    Start { format: Format },
}

/// Later messages of an operator, beside audio.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", deny_unknown_fields)]
enum Told {
    GiveBack { note: Option<String> },
}

/// Handles the request.
pub async fn operate(
    State(state): State<RestState>,
    PathId(id): PathId<AttemptId>,
    Query(ticket): Query<TicketParameters>,
    (uri, headers): (Uri, HeaderMap),
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    if let Some(elsewhere) = elsewhere(&state, id, Shown::Unchecked).await? {
        return Ok(elsewhere.into_response());
    }
    let bearer = admit(&state, (id, TicketPurpose::Operate), &ticket, (&uri, &headers)).await?;
    require_free(&state, id).await?;
    open(
        socket,
        (MAX_MESSAGE_BYTES, WRITE_WITHIN),
        move |mut socket| async move {
            let goodbye = attend(&mut socket, &state, (id, bearer)).await;
            socket.close(goodbye).await;
        },
    )
}

/// Returns a 409 if an operator has the call, or it is a test call in text, which nobody can take over.
pub async fn require_free(state: &RestState, id: AttemptId) -> ApiResult<()> {
    let Some(call) = state.switchboard.inspect_call(id).await else {
        return Ok(());
    };
    match call.operator {
        _ if call.is_text => Err(ApiError::Conflict(
            Conflict::InvalidTransition,
            "a test call in text cannot be taken over".into(),
        )),
        Some(by) => Err(ApiError::Conflict(Conflict::Changed, taken(&by))),
        None => Ok(()),
    }
}

fn taken(by: &str) -> String {
    format!("{by} has the call; wait until it is given back")
}

/// Serves an operator until the call or the socket ends.
async fn attend(socket: &mut LiveSocket, state: &RestState, (id, bearer): (AttemptId, Bearer)) -> Goodbye {
    let format = match socket.start().await {
        Ok(First::Start { format }) => format,
        Err(goodbye) => return goodbye,
    };
    let Some(line) = format.line() else {
        return Some((
            close_code::POLICY,
            "`format`: an operator cannot have `opus`; use `pcm_16000`".into(),
        ));
    };
    let row = state.store.conversation(bearer.account, id).await;
    let callee = row.map(|row| row.callee).unwrap_or_default();
    let operator = match state.switchboard.operate_call(id, bearer.by.clone()).await {
        Some(Ok(operator)) => operator,
        Some(Err(OperateRefusal::Taken(by))) => return Some((close_code::POLICY, taken(&by).into())),
        Some(Err(OperateRefusal::NotNow(why))) => {
            return Some((close_code::POLICY, format!("not possible now: {why}").into()));
        }
        Some(Err(OperateRefusal::NotHere)) | None => return come_again(),
    };
    // Lines run at rates that can be converted.
    let Ok(audio) = OperatorAudio::new(line, operator.sample_rate()) else {
        return unconvertible();
    };
    let ready = json!({
        "event": "ready",
        "format": format,
        "contactName": callee.contact_name,
        "variables": callee.variables,
    });
    if !socket.tell(&ready).await {
        return None;
    }
    run(socket, operator, audio, no_longer_allowed(state, &bearer)).await
}

fn unconvertible() -> Goodbye {
    Some((close_code::ERROR, "the call's audio cannot be converted".into()))
}

/// Passes audio on in both directions, until `revoked` says that the operator may no longer have the call. An operator whose
/// line is dropped here was lost.
async fn run(
    socket: &mut LiveSocket,
    mut line: OperatorLine,
    mut audio: OperatorAudio,
    revoked: impl Future<Output = Goodbye>,
) -> Goodbye {
    let mut revoked = pin!(revoked);
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = Instant::now();
    loop {
        tokio::select! {
            biased;
            _ = look.tick() => {
                if alive.elapsed() >= SILENT_FOR {
                    return Some((close_code::POLICY, "neither audio nor an answer to a ping came for 2 s".into()));
                }
                let lost = line.take_lost_ms();
                if lost > 0 && !socket.tell(&json!({ "event": "lost", "milliseconds": lost })).await {
                    return None;
                }
                if !socket.send(Message::Ping(Bytes::new())).await {
                    return None;
                }
            }
            goodbye = &mut revoked => {
                line.revoke();
                return goodbye;
            }
            heard = line.heard() => {
                let Some(samples) = heard else {
                    socket.tell(&json!({ "event": "end" })).await;
                    return Some((close_code::NORMAL, "the call is over or transferred, or its audio was lost".into()));
                };
                if audio.hear(&samples).is_err() {
                    return unconvertible();
                }
                while let Some(frame) = audio.next_frame() {
                    if !socket.send(Message::Binary(frame.into())).await {
                        return None;
                    }
                }
            }
            message = socket.receive() => {
                alive = Instant::now();
                match message {
                    Some(Message::Binary(frame)) => line.speak(audio.spoken(&frame)),
                    Some(Message::Text(text)) => match given_back(&text) {
                        Ok(note) => {
                            line.give_back(note);
                            return Some((close_code::NORMAL, "given back".into()));
                        }
                        Err(why) => {
                            if !socket.tell(&json!({ "event": "error", "message": why })).await {
                                return None;
                            }
                        }
                    },
                    Some(_) => {}
                    None => return None,
                }
            }
        }
    }
}

/// Returns the note of a message that gives the call back. Any other message is an error, and changes nothing.
fn given_back(text: &str) -> Result<Option<String>, String> {
    let told: Result<Told, _> = serde_json::from_str(text);
    let Told::GiveBack { note } = told.map_err(|error| format!("send audio or `giveBack`: {error}"))?;
    let note = note.map(|note| plain(note.trim())).filter(|note| !note.is_empty());
    let length = note.as_ref().map_or(0, |note| note.chars().count());
    match length > NOTE_CHARACTERS {
        true => Err(format!(
            "`note` has {length} characters; at most {NOTE_CHARACTERS} are allowed"
        )),
        false => Ok(note),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_given_back_with_a_note_or_without_and_by_nothing_else() {
        for (text, note) in [
            (r#"{"event":"giveBack"}"#, None),
            (r#"{"event":"giveBack","note":"  "}"#, None),
            (r#"{"event":"giveBack","note":"Offer\n10 %."}"#, Some("Offer 10 %.")),
        ] {
            assert_eq!(given_back(text).unwrap().as_deref(), note, "{text}");
        }
        let long = json!({ "event": "giveBack", "note": "a".repeat(1_001) }).to_string();
        assert!(given_back(&long).unwrap_err().contains("1001 characters; at most 1000"));
        for text in [
            "",
            "{}",
            r#"{"event":"start"}"#,
            r#"{"event":"giveBack","x":1}"#,
            r#"{"event":"giveBack","note":1}"#,
        ] {
            assert!(given_back(text).unwrap_err().contains("`giveBack`"), "{text}");
        }
    }
}
