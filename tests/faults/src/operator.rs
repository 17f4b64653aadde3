//! An operator of the service, who takes a live call over and makes a sound.

use std::{f64::consts::TAU, io, net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::{
    net::TcpStream,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use crate::api::{Api, text};

/// Longest wait for the call.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Duration of a frame.
const FRAME: Duration = Duration::from_millis(20);

/// An operator who has a call. Dropping it ends the connection without a close.
pub struct Operator(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Operator {
    /// Takes a call over by way of this node.
    ///
    /// # Errors
    /// Returns an error if the call cannot be had.
    pub async fn take(api: &Api, node: SocketAddr, call: &str) -> io::Result<Self> {
        let path = format!("/conversations/{call}");
        let made = api
            .post(&format!("{path}/live-tickets"), json!({ "for": "operate" }))
            .await?;
        let ticket = text(&made["data"]["ticket"])?;
        let url = format!("ws://{node}/public/v1{path}/operate?ticket={ticket}");
        let (mut socket, _) = connect_async(url).await.map_err(io::Error::other)?;
        let start = json!({ "event": "start", "format": "pcm_8000" }).to_string();
        socket.send(Message::text(start)).await.map_err(io::Error::other)?;
        match timeout(READY_WITHIN, socket.next()).await {
            Ok(Some(Ok(Message::Text(event)))) if event.as_str().contains("ready") => Ok(Self(socket)),
            other => Err(io::Error::other(format!("the operator was refused: {other:?}"))),
        }
    }

    /// Makes a sound for this time.
    ///
    /// # Errors
    /// Returns an error if the connection ends meanwhile.
    pub async fn hum(&mut self, time: Duration) -> io::Result<()> {
        // 100 Hz, which is no voice.
        let wave = (0..160).map(|n| ((f64::from(n) * TAU / 80.0).sin() * 6_000.0) as i16);
        let frame: Vec<u8> = wave.flat_map(i16::to_le_bytes).collect();
        let until = Instant::now() + time;
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while Instant::now() < until {
            tokio::select! {
                _ = frames.tick() => {
                    let sent = self.0.send(Message::binary(frame.clone())).await;
                    sent.map_err(io::Error::other)?;
                }
                message = self.0.next() => match message {
                    Some(Ok(Message::Close(frame))) => {
                        return Err(io::Error::other(format!("the service closed the operator's connection: {frame:?}")));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(io::Error::other(error)),
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                },
            }
        }
        Ok(())
    }
}
