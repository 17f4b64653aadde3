//! Tests that a call's audio needs its token or its ticket.

use std::net::SocketAddr;

use carriers::asterisk::account::Media;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use super::{at, audiosocket, sound, ways};
use crate::site::{COOPERATIVE, NO_ANSWER, until};

#[tokio::test(start_paused = true)]
async fn a_media_socket_without_its_calls_token_is_refused() {
    let stub = sound().await;
    let [media, _] = ways();
    let site = at(&stub, media).await;
    site.call(NO_ANSWER).await;
    until(10, "dial", || !stub.dialed_channels().is_empty()).await;
    let (_, attempt) = stub.dialed_channels()[0]
        .channel
        .split_once('.')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let base = format!("{}/carriers/asterisk/media", site.base().replacen("http", "ws", 1));
    let wrong = format!("?token={attempt}.{}", "0".repeat(64));
    for (query, status) in [("", 404), ("?token=", 404), ("?token=x", 404), (&*wrong, 403)] {
        let request = format!("{base}{query}").into_client_request().unwrap();
        match tokio_tungstenite::connect_async(request).await {
            Err(tungstenite::Error::Http(answer)) => assert_eq!(answer.status().as_u16(), status, "{query}"),
            other => panic!("{query}: {other:?}"),
        }
    }
    site.world.pass(1).await;
    assert_eq!(stub.live_calls(), 1);
}

/// Returns everything that an AudioSocket connection with this beginning receives until it is closed.
async fn shows(listen: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(listen).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

#[tokio::test(start_paused = true)]
async fn an_audiosocket_without_a_ticket_is_closed_and_disturbs_nobody() {
    let stub = sound().await;
    let media = audiosocket();
    let Media::AudioSocket { listen, .. } = media.clone() else {
        panic!("no address");
    };
    let site = at(&stub, media).await;
    let id = site.call(COOPERATIVE).await;
    let unknown = [&[1, 0, 16][..], &[7; 16]].concat();
    for bytes in [
        &unknown[..],
        &[0x10, 0, 2, 0, 0],
        &[0xff; 700],
        &[1, 0, 2, 0, 0],
        b"GET / HTTP/1.1\r\n\r\n",
        &[],
    ] {
        assert!(shows(listen, bytes).await.is_empty());
    }
    // A used ticket is invalid.
    until(30, "audio", || {
        stub.originated()
            .iter()
            .any(|of| of.endpoint.starts_with("AudioSocket"))
    })
    .await;
    site.world.pass(1).await;
    let endpoint = stub.originated().pop().unwrap().endpoint;
    let ticket: uuid::Uuid = endpoint.rsplit_once('/').unwrap().1.parse().unwrap();
    let again = [&[1, 0, 16][..], ticket.as_bytes()].concat();
    assert!(shows(listen, &again).await.is_empty());
    let conversation = site.world.until_over(&id, 120).await;
    site.check_words(&conversation, COOPERATIVE);
    site.ends_tidy(1).await;
}
