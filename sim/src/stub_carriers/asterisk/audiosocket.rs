//! Client of AudioSocket: a TCP connection for a channel, its UUID first, then frames both ways.

use std::sync::Arc;

use media::format::{Encoding, LineFormat};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use uuid::Uuid;

use super::{channels::Channel, sound::Sound, stub::Asterisk, websocket::Interruption};
use crate::stub_carriers::{settings::locked, sound::Converter};

const SLIN: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 8_000,
};

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[kind], &length[..], payload].concat()
}

/// Connects, and passes audio until either side ends.
pub(super) async fn run(stub: &Arc<Asterisk>, channel: &Arc<Channel>, address: &str, uuid: &str) {
    let connected = async {
        let uuid: Uuid = uuid.parse().ok()?;
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        stream.write_all(&frame(0x01, uuid.as_bytes())).await.ok()?;
        Some(stream)
    };
    let Some(stream) = connected.await else {
        return stub.destroy(channel, 3, "No route to destination", None);
    };
    stub.answered(channel);
    pass(stub, channel, stream).await;
    stub.destroy(channel, 16, "Normal Clearing", None);
}

async fn pass(stub: &Arc<Asterisk>, channel: &Arc<Channel>, stream: TcpStream) -> Option<()> {
    let mut from_channel = locked(&channel.from_channel).take()?;
    let (mut source, mut sink) = stream.into_split();
    let (mut up, mut down) = (Converter::to(SLIN), Converter::from(SLIN));
    let mut interruption = Interruption::new(stub);
    let reading = async {
        loop {
            let mut header = [0; 3];
            source.read_exact(&mut header).await.ok()?;
            let mut payload = vec![0; usize::from(u16::from_be_bytes([header[1], header[2]]))];
            source.read_exact(&mut payload).await.ok()?;
            match header[0] {
                0x00 => return None::<()>,
                0x10 if payload.len() == 320 => stub.says(channel, &Sound::Audio(down.decode(&payload))),
                kind => stub
                    .base
                    .complain(format!("AudioSocket frame {kind:#04x} of {} bytes", payload.len())),
            }
        }
    };
    let writing = async {
        loop {
            let bytes = match from_channel.recv().await? {
                Sound::Audio(samples) => {
                    interruption.frame(stub).await?;
                    frame(0x10, &up.encode(samples))
                }
                Sound::Key(key) => frame(0x03, &[u8::try_from(key).ok()?]),
            };
            sink.write_all(&bytes).await.ok()?;
        }
    };
    tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
        () = channel.hang_up.notified() => None,
    }
}
