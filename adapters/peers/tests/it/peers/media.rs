//! Media sockets that were opened at the wrong node.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::ports::media_leg::{InboundItem, MediaLeg, OutboundItem};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, Message},
};

use super::{
    site::{Call, Site},
    two,
};

pub type Phone = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens the simulated carrier's media socket of a call at a node.
pub async fn open(site: &Site, call: &Call) -> Result<Phone, tungstenite::Error> {
    open_at(site, &format!("simulated/media/{}", call.media())).await
}

async fn open_at(site: &Site, endpoint: &str) -> Result<Phone, tungstenite::Error> {
    let url = format!("{}/carriers/{endpoint}", site.address.replacen("http", "ws", 1));
    connect_async_with_config(url, None, true)
        .await
        .map(|(socket, _)| socket)
}

async fn send(phone: &mut Phone, message: Value) {
    phone.send(Message::Text(message.to_string().into())).await.unwrap();
}

/// Opens a socket at `site` that `holder` takes.
pub async fn connected(site: &Site, holder: &Site, call: &Call) -> (Phone, MediaLeg) {
    let mut phone = open(site, call).await.unwrap();
    let start = json!({ "streamSid": "MZ1", "callSid": "CA1", "mediaFormat": {
        "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 } });
    send(
        &mut phone,
        json!({ "event": "start", "streamSid": "MZ1", "start": start }),
    )
    .await;
    let came = async {
        while holder.legs() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(5), came).await.unwrap();
    (phone, holder.leg())
}

async fn frame(phone: &mut Phone, audio: &[u8]) {
    let media = json!({ "payload": BASE64.encode(audio) });
    send(phone, json!({ "event": "media", "streamSid": "MZ1", "media": media })).await;
}

/// Waits for items of the call and returns them.
async fn items(leg: &MediaLeg) -> Vec<InboundItem> {
    let mut items = Vec::new();
    let came = async {
        while items.is_empty() {
            sleep(Duration::from_millis(1)).await;
            leg.inbound.drain(&mut items);
        }
    };
    timeout(Duration::from_secs(20), came).await.unwrap();
    items
}

/// Returns the next text message sent to the phone.
async fn next(phone: &mut Phone) -> Value {
    match timeout(Duration::from_secs(20), phone.next()).await.unwrap() {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn frames_go_both_ways_as_they_come() {
    let (_, first, second, call) = two().await;
    let (mut phone, leg) = connected(&first, &second, &call).await;
    assert_eq!((first.legs(), first.peers.sockets()), (0, 1));
    for n in 0..100_u8 {
        let before = Instant::now();
        frame(&mut phone, &[n; 160]).await;
        assert_eq!(items(&leg).await, [InboundItem::Audio(vec![n; 160])]);
        leg.outbound.send(OutboundItem::Audio(vec![n; 160])).await.unwrap();
        let media = next(&mut phone).await;
        assert_eq!(media["media"]["payload"], BASE64.encode([n; 160]));
        // The relay waits neither for more bytes nor for a timer.
        assert!(before.elapsed() < Duration::from_millis(20), "{:?}", before.elapsed());
    }
    leg.outbound.send(OutboundItem::Clear).await.unwrap();
    assert_eq!(next(&mut phone).await["event"], "clear");
    // The phone hangs up.
    send(&mut phone, json!({ "event": "stop", "streamSid": "MZ1", "stop": {} })).await;
    phone.close(None).await.unwrap();
    assert_eq!(items(&leg).await, [InboundItem::Closed { clean: true }]);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(first.peers.sockets(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_call_ends_its_socket_and_says_why() {
    let (_, first, second, call) = two().await;
    let (mut phone, leg) = connected(&first, &second, &call).await;
    leg.outbound.send(OutboundItem::Audio(vec![7; 160])).await.unwrap();
    leg.outbound.send(OutboundItem::Close).await.unwrap();
    assert_eq!(next(&mut phone).await["event"], "media");
    let closed = timeout(Duration::from_secs(5), phone.next()).await.unwrap();
    match closed {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 1000),
        other => panic!("{other:?}"),
    }
    drop(phone);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(first.peers.sockets(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_dies_ends_the_socket_unclean() {
    let (_, first, second, call) = two().await;
    let (phone, leg) = connected(&first, &second, &call).await;
    drop(phone);
    assert_eq!(items(&leg).await, [InboundItem::Closed { clean: false }]);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(first.peers.sockets(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_plain_endpoint_keeps_its_query() {
    let (_, first, second, call) = two().await;
    let endpoint = format!("plain/media/{}?input=pcm_16000", call.media());
    let mut phone = open_at(&first, &endpoint).await.unwrap();
    send(&mut phone, json!({ "event": "start" })).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(second.legs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_socket_without_its_proof_is_refused_at_the_first_node() {
    let (_, first, second, call) = two().await;
    let other = Call {
        attempt: call.attempt,
        ..Call::new()
    };
    for (call, expected) in [(&other, 404), (&Call::new(), 404)] {
        match open(&first, call).await {
            Err(tungstenite::Error::Http(answer)) => assert_eq!(answer.status().as_u16(), expected),
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
    assert_eq!((second.legs(), first.peers.sockets()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_the_sockets_of_other_nodes() {
    let (_, first, second, call) = two().await;
    let (phone, _leg) = connected(&first, &second, &call).await;
    let before = Instant::now();
    first.peers.drain(Duration::from_secs(5)).await;
    assert!(before.elapsed() >= Duration::from_secs(5));
    let ends = async {
        sleep(Duration::from_secs(1)).await;
        drop(phone);
    };
    tokio::join!(first.peers.drain(Duration::from_secs(60)), ends);
    assert!(before.elapsed() < Duration::from_secs(10));
    let again = Call::new();
    second.takes(&again);
    let (mut phone, _leg) = connected(&first, &second, &again).await;
    first.peers.close();
    let ended = timeout(Duration::from_secs(2), phone.next()).await.unwrap();
    assert!(matches!(ended, None | Some(Err(_))), "{ended:?}");
}
