//! Tests of the carrier endpoints in front of a switchboard with one call.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use actors::{
    call::{CallMessage, LegRefusal},
    lines::LinesMessage,
    switchboard::Switchboard,
};
use axum::serve::ListenerExt;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use carriers::{
    CarrierLink, plain,
    simulated::{self, SimulatedCarrier},
};
use domain::{
    dial_token::{DialToken, Purpose},
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{CallProgress, Carrier, DialRequest, EndCause},
        media_leg::{InboundItem, MediaLeg, OutboundItem},
    },
};
use futures_util::{SinkExt, StreamExt};
use media::{
    babble::{Listener, Transcript},
    codec,
    format::Encoding,
};
use serde_json::{Value, json};
use sim::exchange::{Exchange, ExchangeSettings};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        self, Message,
        protocol::frame::{
            Frame,
            coding::{CloseCode, Data, OpCode},
        },
    },
};

use support::fake_actor::answering_at_once;

/// A message that arrives through the endpoints.
enum Arrival {
    Leg(MediaLeg),
    Progress(CallProgress),
}

struct OneCall {
    attempt: AttemptId,
    token: DialToken,
    arrivals: mpsc::UnboundedSender<Arrival>,
    /// Never replies.
    dumb: bool,
    /// Whether a leg was taken.
    taken: AtomicBool,
}

impl OneCall {
    fn refusal(
        &self,
        (attempt, carrier): (AttemptId, &str),
        (purpose, proof): (Purpose, &str),
        taken: bool,
    ) -> Result<(), LegRefusal> {
        if attempt != self.attempt || carrier != "simulated" {
            Err(LegRefusal::UnknownCall)
        } else if !self.token.verify(purpose, proof) {
            Err(LegRefusal::BadProof)
        } else if taken {
            Err(LegRefusal::NotNow)
        } else {
            Ok(())
        }
    }
}

impl OneCall {
    fn answer(&self, message: LinesMessage) {
        if self.dumb {
            return std::mem::forget(message);
        }
        let LinesMessage::ToCall {
            carrier,
            attempt,
            message,
        } = message
        else {
            return;
        };
        let at = (attempt, carrier);
        let taken = self.taken.load(Ordering::Relaxed);
        match message {
            CallMessage::AskMedia { proof, reply, .. } => {
                let _ = reply.send(self.refusal(at, (Purpose::Media, &proof), taken));
            }
            CallMessage::Media { proof, leg, reply } => {
                let answer = self.refusal(at, (Purpose::Media, &proof), taken);
                if answer.is_ok() {
                    self.taken.store(true, Ordering::Relaxed);
                    self.arrivals.send(Arrival::Leg(leg)).unwrap();
                }
                let _ = reply.send(answer);
            }
            CallMessage::Progress { proof, report, reply } => {
                let answer = self.refusal(at, (Purpose::Status, &proof), false);
                if answer.is_ok() {
                    self.arrivals.send(Arrival::Progress(report.progress)).unwrap();
                }
                let _ = reply.send(answer);
            }
            _ => {}
        }
    }
}

struct Node {
    addr: SocketAddr,
    attempt: AttemptId,
    token: DialToken,
    switchboard: Switchboard,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
}

impl Node {
    async fn start(dumb: bool) -> Self {
        let (attempt, token) = (AttemptId::new(), DialToken::random());
        let (sender, arrivals) = mpsc::unbounded_channel();
        let actor = OneCall {
            attempt,
            token: token.clone(),
            arrivals: sender,
            dumb,
            taken: AtomicBool::new(false),
        };
        let lines = answering_at_once(move |message| actor.answer(message)).await;
        let switchboard = Switchboard {
            lines: lines.into(),
            ..Switchboard::default()
        };
        let app = carriers::router(
            &CarrierLink::new(switchboard.clone()),
            [("simulated", simulated::routes()), (plain::NAME, plain::trunk().routes)],
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener.tap_io(|tcp| tcp.set_nodelay(true).unwrap()), app).await });
        Self {
            addr,
            attempt,
            token,
            switchboard,
            arrivals,
        }
    }

    fn media_token(&self) -> String {
        format!("{}.{}", self.attempt, self.token.proof(Purpose::Media))
    }

    async fn open(&self, token: &str) -> Result<Phone, tungstenite::Error> {
        self.open_at("simulated", token).await
    }

    async fn open_at(&self, carrier: &str, token: &str) -> Result<Phone, tungstenite::Error> {
        let url = format!("ws://{}/carriers/{carrier}/media/{token}", self.addr);
        // Nagle's delay is real time, which a paused clock does not wait for.
        connect_async_with_config(url, None, true)
            .await
            .map(|(socket, _)| Phone(socket))
    }

    /// Returns the status and the code that refuse a socket before its upgrade.
    async fn refused(&self, token: &str) -> (u16, String) {
        match self.open(token).await {
            Err(tungstenite::Error::Http(answer)) => {
                let body: Value = serde_json::from_slice(answer.body().as_ref().unwrap()).unwrap();
                (
                    answer.status().as_u16(),
                    body["error"]["code"].as_str().unwrap().to_owned(),
                )
            }
            other => panic!("{token}: {:?}", other.map(|_| ())),
        }
    }

    /// Returns a socket that the call has taken.
    async fn connected(&mut self) -> (Phone, Leg) {
        let mut phone = self.open(&self.media_token()).await.unwrap();
        phone.start().await;
        let leg = self.leg().await;
        (phone, leg)
    }

    async fn leg(&mut self) -> Leg {
        match timeout(Duration::from_secs(60), self.arrivals.recv()).await.unwrap() {
            Some(Arrival::Leg(leg)) => Leg { leg, items: Vec::new() },
            _ => panic!("no leg"),
        }
    }

    async fn status(&self, attempt: AttemptId, proof: &str, body: &str) -> (u16, String) {
        let url = format!("http://{}/carriers/simulated/status/{attempt}/{proof}", self.addr);
        let client = net::http_client::builder().build().unwrap();
        let answer = client.post(url).body(body.to_owned()).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}

struct Phone(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Phone {
    async fn send(&mut self, message: Value) {
        self.0.send(Message::Text(message.to_string().into())).await.unwrap();
    }

    async fn start(&mut self) {
        self.send(json!({"event": "connected", "protocol": "Call", "version": "1.0.0"}))
            .await;
        self.send(
            json!({"event": "start", "streamSid": "MZ1", "start": {"streamSid": "MZ1", "callSid": "CA1",
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}}}),
        )
        .await;
    }

    async fn media(&mut self, audio: &[u8]) -> Result<(), tungstenite::Error> {
        let message = json!({"event": "media", "streamSid": "MZ1", "media": {"payload": BASE64.encode(audio)}});
        self.0.send(Message::Text(message.to_string().into())).await
    }

    /// Sends a frame with its number, as carriers do.
    async fn numbered(&mut self, chunk: u8) {
        let timestamp = (u32::from(chunk) * 20).to_string();
        let payload = BASE64.encode([chunk; 160]);
        let media = json!({"track": "inbound", "chunk": chunk.to_string(), "timestamp": timestamp, "payload": payload});
        self.send(json!({"event": "media", "streamSid": "MZ1", "media": media}))
            .await;
    }

    async fn mark(&mut self, name: &str) -> Result<(), tungstenite::Error> {
        let message = json!({"event": "mark", "streamSid": "MZ1", "mark": {"name": name}});
        self.0.send(Message::Text(message.to_string().into())).await
    }

    async fn next(&mut self) -> Value {
        match timeout(Duration::from_secs(60), self.0.next()).await.unwrap() {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the close frame; everything before it is skipped.
    async fn closed(&mut self) -> Option<(CloseCode, String)> {
        let wait = async {
            while let Some(Ok(message)) = self.0.next().await {
                if let Message::Close(frame) = message {
                    return frame.map(|frame| (frame.code, frame.reason.to_string()));
                }
            }
            None
        };
        timeout(Duration::from_secs(600), wait).await.unwrap()
    }
}

struct Leg {
    leg: MediaLeg,
    items: Vec<InboundItem>,
}

impl Leg {
    /// Returns everything up to `Closed`, and checks that nothing follows.
    async fn until_closed(mut self) -> Vec<InboundItem> {
        let wait = async {
            while !matches!(self.items.last(), Some(InboundItem::Closed { .. })) {
                tokio::time::sleep(Duration::from_millis(10)).await;
                self.leg.inbound.drain(&mut self.items);
            }
        };
        timeout(Duration::from_secs(600), wait).await.expect("never closed");
        tokio::time::sleep(Duration::from_secs(60)).await;
        self.leg.inbound.drain(&mut self.items);
        let ends = self
            .items
            .iter()
            .filter(|item| matches!(item, InboundItem::Closed { .. }));
        assert_eq!(ends.count(), 1);
        self.items
    }

    async fn send(&self, item: OutboundItem) {
        self.leg.outbound.send(item).await.unwrap();
    }
}

const CLEAN: InboundItem = InboundItem::Closed { clean: true };
const BROKEN: InboundItem = InboundItem::Closed { clean: false };

#[tokio::test(start_paused = true)]
async fn a_taken_socket_carries_everything_both_ways_in_order() {
    let mut node = Node::start(false).await;
    let (mut phone, leg) = node.connected().await;
    assert!(leg.leg.abilities.clear && leg.leg.format == media::format::LineFormat::MULAW_8000);
    leg.send(OutboundItem::Audio(vec![7; 20_000])).await;
    leg.send(OutboundItem::Mark("u1".into())).await;
    leg.send(OutboundItem::Clear).await;
    for length in [16_000, 4_000] {
        let message = phone.next().await;
        assert_eq!(
            (&message["event"], &message["streamSid"]),
            (&json!("media"), &json!("MZ1"))
        );
        assert_eq!(
            BASE64.decode(message["media"]["payload"].as_str().unwrap()).unwrap(),
            vec![7; length]
        );
    }
    assert_eq!(phone.next().await["mark"]["name"], "u1");
    assert_eq!(phone.next().await["event"], "clear");

    phone.media(&[1; 160]).await.unwrap();
    phone.mark("u1").await.unwrap();
    phone
        .send(json!({"event": "dtmf", "streamSid": "MZ1", "dtmf": {"digit": "5"}}))
        .await;
    phone.send(json!({"event": "novelty", "streamSid": "MZ1"})).await;
    phone
        .send(json!({"event": "stop", "streamSid": "MZ1", "stop": {}}))
        .await;
    phone.0.close(None).await.unwrap();
    assert_eq!(
        leg.until_closed().await,
        [
            InboundItem::Audio(vec![1; 160]),
            InboundItem::Mark("u1".into()),
            InboundItem::Digit('5'),
            CLEAN
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn frames_that_come_twice_swapped_or_not_at_all_reach_the_call_in_order() {
    let mut node = Node::start(false).await;
    let (mut phone, mut leg) = node.connected().await;
    for chunk in [1, 2, 2, 4, 3, 5, 5, 8, 9, 10, 11, 6] {
        phone.numbered(chunk).await;
    }
    // Frames do not wait for a lost one for ever.
    phone.numbered(13).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    leg.leg.inbound.drain(&mut leg.items);
    let silence = vec![0xff; 160];
    let audio = |chunk: u8| match chunk {
        6 | 7 | 12 => InboundItem::Audio(silence.clone()),
        chunk => InboundItem::Audio(vec![chunk; 160]),
    };
    assert_eq!(leg.items, (1..=13).map(audio).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_ends_the_leg_unclean() {
    let mut node = Node::start(false).await;
    let (phone, leg) = node.connected().await;
    drop(phone);
    assert_eq!(leg.until_closed().await, [BROKEN]);
}

#[tokio::test(start_paused = true)]
async fn the_call_closes_its_leg_by_a_word_or_by_letting_go() {
    for by_word in [true, false] {
        let mut node = Node::start(false).await;
        let (mut phone, leg) = node.connected().await;
        leg.send(OutboundItem::Audio(vec![7; 160])).await;
        let Leg { leg, items } = leg;
        let queue = leg.inbound.clone();
        if by_word {
            leg.outbound.send(OutboundItem::Close).await.unwrap();
        }
        drop(leg);
        assert_eq!(
            phone.next().await["event"],
            "media",
            "what was said before the end is sent"
        );
        phone.closed().await;
        let (outbound, _) = mpsc::channel(1);
        let leg = MediaLeg {
            call: None,
            format: media::format::LineFormat::MULAW_8000,
            abilities: carriers::protocol::PLAYER,
            inbound: queue,
            outbound,
        };
        assert_eq!(Leg { leg, items }.until_closed().await, [CLEAN]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_names_no_call_is_refused_before_the_upgrade() {
    let node = Node::start(false).await;
    let proof = node.token.proof(Purpose::Media);
    for token in [
        "x".to_owned(),
        node.attempt.to_string(),
        format!("{}.{}", node.attempt, &proof[..63]),
        format!("{}.{}", node.attempt, proof.to_uppercase()),
        format!("{}{proof}", node.attempt),
        format!("{}.{proof}", node.attempt.to_string().to_uppercase()),
    ] {
        match node.open(&token).await {
            Err(tungstenite::Error::Http(answer)) => {
                assert_eq!(answer.status(), 404, "{token}");
                let body: Value = serde_json::from_slice(answer.body().as_ref().unwrap()).unwrap();
                assert_eq!(
                    (&body["success"], &body["error"]["code"]),
                    (&json!(false), &json!("not_found"))
                );
            }
            other => panic!("{token}: {:?}", other.map(|_| ())),
        }
    }
    let url = format!("http://{}/carriers/simulated/media/{}", node.addr, node.media_token());
    let plain = net::http_client::builder()
        .build()
        .unwrap()
        .get(url)
        .send()
        .await
        .unwrap();
    assert!(plain.status().is_client_error());
    assert_eq!(plain.json::<Value>().await.unwrap()["error"]["code"], "not_a_websocket");
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_the_call_does_not_take_is_closed_with_the_reason() {
    let mut node = Node::start(false).await;
    let stranger = format!("{}.{}", AttemptId::new(), node.token.proof(Purpose::Media));
    let forged = format!("{}.{}", node.attempt, node.token.proof(Purpose::Status));
    for (token, status, code) in [(stranger, 404, "not_found"), (forged, 403, "bad_proof")] {
        assert_eq!(
            node.refused(&token).await,
            (status, code.to_owned()),
            "before the upgrade"
        );
    }
    let mut second = node.open(&node.media_token()).await.unwrap();
    let (mut first, leg) = node.connected().await;
    assert_eq!(node.refused(&node.media_token()).await, (409, "not_now".to_owned()));
    second.start().await;
    let refusal = "call takes no media now".to_owned();
    assert_eq!(second.closed().await, Some((CloseCode::Policy, refusal)));
    leg.send(OutboundItem::Clear).await;
    assert_eq!(first.next().await["event"], "clear", "the first socket goes on");
}

#[tokio::test(start_paused = true)]
async fn a_socket_without_a_start_is_closed_after_ten_seconds() {
    let mut node = Node::start(false).await;
    let mut phone = node.open(&node.media_token()).await.unwrap();
    let opened = tokio::time::Instant::now();
    assert_eq!(phone.closed().await.unwrap().0, CloseCode::Policy);
    assert_eq!(opened.elapsed().as_secs(), 10);
    assert!(node.arrivals.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_answer_asks_the_carrier_to_come_again() {
    let node = Node::start(true).await;
    assert_eq!(node.refused(&node.media_token()).await, (503, "unavailable".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn sockets_that_nobody_proved_never_keep_a_call_from_its_own() {
    let mut node = Node::start(false).await;
    let strange = format!("{}.{}", node.attempt, "0".repeat(64));
    for _ in 0..600 {
        assert_eq!(node.refused(&strange).await.0, 403);
    }
    node.connected().await;
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_of_another_carrier_leads_to_no_call() {
    let mut node = Node::start(false).await;
    match node.open_at("plain", &node.media_token()).await {
        Err(tungstenite::Error::Http(answer)) => assert_eq!(answer.status().as_u16(), 404),
        other => panic!("{:?}", other.map(|_| ())),
    }
    node.connected().await;
}

#[tokio::test(start_paused = true)]
async fn one_address_opened_again_and_again_takes_no_places_of_others() {
    let mut node = Node::start(false).await;
    let token = node.media_token();
    let first = node.open(&token).await.unwrap();
    let _second = node.open(&token).await.unwrap();
    for _ in 0..3 {
        assert_eq!(node.refused(&token).await, (409, "not_now".into()));
    }
    // A closed socket makes room.
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    node.connected().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_socket_is_closed_after_thirty_seconds() {
    let mut node = Node::start(false).await;
    let (mut phone, leg) = node.connected().await;
    let opened = tokio::time::Instant::now();
    assert_eq!(
        phone.closed().await,
        Some((CloseCode::Policy, "silent for 30 s".to_owned()))
    );
    assert_eq!(opened.elapsed().as_secs(), 30);
    assert_eq!(leg.until_closed().await, [BROKEN]);
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_breaks_the_format_is_closed_and_its_leg_ends_unclean() {
    let media = |bytes: usize| {
        let payload = BASE64.encode(vec![0; bytes]);
        Message::Text(
            json!({"event": "media", "media": {"payload": payload}})
                .to_string()
                .into(),
        )
    };
    for (message, code) in [
        (Message::Text("{".into()), Some(CloseCode::Invalid)),
        (
            Message::Text(r#"{"event":"media","media":{"payload":"?"}}"#.into()),
            Some(CloseCode::Invalid),
        ),
        (
            Message::Text(r#"{"event":"dtmf","dtmf":{"digit":5}}"#.into()),
            Some(CloseCode::Invalid),
        ),
        (Message::Binary(vec![0; 160].into()), Some(CloseCode::Unsupported)),
        // Over 64 KiB, the library drops the connection.
        (media(50_000), None),
    ] {
        let mut node = Node::start(false).await;
        let (mut phone, leg) = node.connected().await;
        phone.0.send(message).await.unwrap();
        let closed = phone.closed().await;
        if let Some(code) = code {
            assert_eq!(closed.map(|(code, _)| code), Some(code));
        }
        assert_eq!(leg.until_closed().await, [BROKEN]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_too_large_in_small_frames_is_not_put_together() {
    let mut node = Node::start(false).await;
    let (mut phone, leg) = node.connected().await;
    let payload = BASE64.encode(vec![0; 60_000]);
    let text = json!({"event": "media", "media": {"payload": payload}}).to_string();
    let (one, two) = text.split_at(text.len() / 2);
    for (part, code, last) in [(one, Data::Text, false), (two, Data::Continue, true)] {
        let frame = Frame::message(part.to_owned().into_bytes(), OpCode::Data(code), last);
        phone.0.send(Message::Frame(frame)).await.unwrap();
    }
    phone.closed().await;
    assert_eq!(leg.until_closed().await, [BROKEN]);
}

#[tokio::test(start_paused = true)]
async fn a_socket_far_ahead_of_real_time_is_closed() {
    let mut node = Node::start(false).await;
    let (mut phone, leg) = node.connected().await;
    for _ in 0..600 {
        if phone.media(&[0; 160]).await.is_err() {
            break;
        }
    }
    let (code, reason) = phone.closed().await.unwrap();
    assert_eq!(
        (code, &*reason),
        (CloseCode::Policy, "audio more than 10 s ahead of real time")
    );
    assert_eq!(leg.until_closed().await.last(), Some(&BROKEN));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_marks_closes_the_socket() {
    let mut node = Node::start(false).await;
    let (mut phone, leg) = node.connected().await;
    for n in 0..600 {
        if phone.mark(&n.to_string()).await.is_err() {
            break;
        }
    }
    assert_eq!(
        phone.closed().await,
        Some((CloseCode::Policy, "too many messages".to_owned()))
    );
    assert!(leg.until_closed().await.len() <= 501);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_cut_off() {
    let mut node = Node::start(false).await;
    let (phone, leg) = node.connected().await;
    let sender = leg.leg.outbound.clone();
    let flood = async { while sender.send(OutboundItem::Audio(vec![7; 16_000])).await.is_ok() {} };
    timeout(Duration::from_secs(25), flood)
        .await
        .expect("a stuck socket is given up");
    assert_eq!(leg.until_closed().await, [BROKEN]);
    drop(phone);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_taken_once_proved_and_a_late_one_is_no_error() {
    let mut node = Node::start(false).await;
    let proof = node.token.proof(Purpose::Status);
    let ended = r#"{"callId":"CA1","status":"ended","cause":"busy","sequence":0}"#;
    for _ in 0..2 {
        assert_eq!(node.status(node.attempt, &proof, ended).await.0, 204);
        let Some(Arrival::Progress(progress)) = node.arrivals.recv().await else {
            panic!("not taken");
        };
        assert_eq!(progress, CallProgress::Ended(EndCause::Busy));
    }
    assert_eq!(node.status(AttemptId::new(), &proof, ended).await.0, 204);
    let media = node.token.proof(Purpose::Media);
    for forged in [&*media, "x"] {
        let (status, body) = node.status(node.attempt, forged, ended).await;
        assert_eq!(status, 403, "{body}");
    }
    assert_eq!(node.status(node.attempt, &proof, "{}").await.0, 400);
    let (status, body) = node.status(node.attempt, &proof, &" ".repeat(20_000)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["error"]["code"]), (413, &json!("too_large")));
    assert!(node.arrivals.try_recv().is_err());
    let lines = node.switchboard.lines.get().unwrap();
    lines.stop_and_wait(None, None).await.unwrap();
    assert_eq!(node.status(node.attempt, &proof, ended).await.0, 503);
}

#[tokio::test(start_paused = true)]
async fn a_simulated_call_comes_in_through_the_real_endpoints() {
    let mut node = Node::start(false).await;
    let exchange = Exchange::start(ExchangeSettings::on_loopback()).await.unwrap();
    let carrier = SimulatedCarrier::new(&exchange.url(), &format!("http://{}/", node.addr)).unwrap();
    let request = DialRequest {
        attempt: node.attempt,
        from: None,
        to: PhoneNumber::parse("+15551234561").unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token: node.token.proof(Purpose::Status),
        media_token: node.token.proof(Purpose::Media),
        detect_machine: false,
        hints: [("persona".to_owned(), "cooperative".to_owned())].into(),
        last_look: Default::default(),
    };
    let call = carrier.dial(&request).await.unwrap();
    let mut progress = Vec::new();
    let mut leg = None;
    while leg.is_none() || progress.len() < 2 {
        match timeout(Duration::from_secs(60), node.arrivals.recv())
            .await
            .unwrap()
            .unwrap()
        {
            Arrival::Leg(taken) => leg = Some(taken),
            Arrival::Progress(fact) => progress.push(fact),
        }
    }
    assert_eq!(progress, [CallProgress::Ringing, CallProgress::Answered]);
    let leg = leg.unwrap();
    let mut hearing = Hearing::default();
    let hello = hearing.sentence(&leg).await;
    assert!(hello.to_lowercase().contains("hello"), "{hello}");
    carrier.hang_up(&call).await.unwrap();
    let items = Leg { leg, items: Vec::new() }.until_closed().await;
    assert_eq!(items.last(), Some(&CLEAN));
    let ended = timeout(Duration::from_secs(60), node.arrivals.recv()).await.unwrap();
    assert!(matches!(
        ended,
        Some(Arrival::Progress(CallProgress::Ended(EndCause::Completed)))
    ));
}

#[derive(Default)]
struct Hearing {
    listener: Listener,
    transcript: Transcript,
}

impl Hearing {
    async fn sentence(&mut self, leg: &MediaLeg) -> String {
        let wake = Arc::new(tokio::sync::Notify::new());
        let woken = wake.clone();
        leg.inbound.set_waker(Box::new(move || woken.notify_one()));
        let (mut items, mut samples, mut heard) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            timeout(Duration::from_secs(60), wake.notified()).await.unwrap();
            assert_eq!(leg.inbound.drain(&mut items), 0, "no frame is dropped");
            for item in items.drain(..) {
                let InboundItem::Audio(audio) = item else {
                    panic!("{item:?}");
                };
                samples.clear();
                codec::decode(Encoding::MuLaw, &audio, &mut samples);
                self.listener.push(&samples, &mut heard);
            }
            for event in heard.drain(..) {
                if let Some(utterance) = self.transcript.take(event) {
                    return utterance.text;
                }
            }
        }
    }
}
