//! A caller of the service. It asks for a media socket, hears the agent speak, stays for a while, and hangs up.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::api::{Api, text};

/// Longest wait for a socket to open.
const OPENS_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait for the agent to speak.
const SPEAKS_WITHIN: Duration = Duration::from_secs(5);

/// Result of a call.
pub enum Came {
    /// The caller hung up, as intended.
    HungUp,
    /// The call ended otherwise, for this reason.
    Dropped(String),
}

/// Calls an agent from this number and stays for `stays` once the agent speaks.
///
/// # Errors
/// Returns an error if the service does not accept the call.
pub async fn call(api: &Api, (agent, from): (&str, &str), stays: Duration) -> io::Result<Came> {
    let made = api
        .post("/calls/inbound", json!({ "agentId": agent, "from": from }))
        .await?;
    let (url, id) = (text(&made["data"]["mediaUrl"])?, text(&made["data"]["conversationId"])?);
    Ok(match talk(&url, stays).await {
        Ok(()) => Came::HungUp,
        Err(why) => Came::Dropped(format!("{id}, from {from}: {why}")),
    })
}

async fn talk(url: &str, stays: Duration) -> Result<(), String> {
    let opened = timeout(OPENS_WITHIN, connect_async(url)).await;
    let (mut socket, _) = opened
        .map_err(|_| "its socket did not open in time".to_owned())?
        .map_err(|error| format!("its socket did not open: {error}"))?;
    let start = Message::text(json!({ "event": "start" }).to_string());
    socket.send(start).await.map_err(|error| error.to_string())?;
    let (mut until, mut spoke) = (Instant::now() + SPEAKS_WITHIN, false);
    loop {
        match timeout_at(until, socket.next()).await {
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return Err("its socket was closed".to_owned()),
            Ok(Some(Ok(Message::Binary(_)))) if !spoke => {
                spoke = true;
                until = Instant::now() + stays;
            }
            Ok(Some(Ok(_))) => {}
            Err(_) if spoke => break,
            Err(_) => return Err("nobody spoke".to_owned()),
        }
    }
    let _ = socket.close(None).await;
    Ok(())
}
