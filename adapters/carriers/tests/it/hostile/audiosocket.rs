//! Hostile peers at AudioSocket, which is TCP: a connection that does not belong to a waiting call is closed,
//! nothing panics, and another call is not affected. The test's own Asterisk stub issues the tickets.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{
        Query, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::Uri,
    response::IntoResponse,
    routing::{get, post},
};
use carriers::{
    asterisk::account::{AsteriskAccount, Media, Template},
    kind::Account,
};
use domain::{
    dial_token::Purpose,
    id::AttemptId,
    ports::{
        carrier::{Carrier, DialRequest, WayBack},
        media_leg::{InboundItem, OutboundItem},
    },
};
use net::key::Key;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Mutex, broadcast, mpsc},
    time::timeout,
};
use uuid::Uuid;

use super::{
    LOOK_EVERY, count_panics, messages,
    node::{Node, SOON, Seen},
};

/// Maximum number of connections that wait for their UUID.
const WAITING: usize = 256;

/// Stub that answers every dial at once, and records the address it is told to connect to.
#[derive(Clone)]
struct Ari {
    events: broadcast::Sender<Value>,
    tickets: mpsc::UnboundedSender<Uuid>,
}

#[derive(serde::Deserialize)]
struct Asked {
    endpoint: String,
    #[serde(rename = "channelId")]
    channel: String,
}

async fn originate(State(ari): State<Ari>, Query(asked): Query<Asked>) -> Json<Value> {
    let channel = json!({ "id": asked.channel, "state": "Up" });
    match asked.endpoint.strip_prefix("AudioSocket/") {
        Some(rest) => ari
            .tickets
            .send(rest.rsplit_once('/').unwrap().1.parse().unwrap())
            .unwrap(),
        None => drop(ari.events.send(json!({ "type": "StasisStart", "channel": channel }))),
    }
    Json(channel)
}

async fn events(State(ari): State<Ari>, socket: WebSocketUpgrade) -> impl IntoResponse {
    let mut events = ari.events.subscribe();
    socket.on_upgrade(async move |mut socket: WebSocket| {
        while let Ok(event) = events.recv().await {
            if socket.send(Message::Text(event.to_string().into())).await.is_err() {
                return;
            }
        }
    })
}

/// A node whose Asterisk uses AudioSocket.
struct Place {
    node: Node,
    carrier: Arc<dyn Carrier>,
    listen: SocketAddr,
    tickets: Mutex<mpsc::UnboundedReceiver<Uuid>>,
}

impl Place {
    async fn start() -> Self {
        let node = Node::start().await;
        let (sender, tickets) = mpsc::unbounded_channel();
        let ari = Ari {
            events: broadcast::channel(1_024).0,
            tickets: sender,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let none = || async { Json(json!([])) };
        let app = Router::new()
            .route("/ari/events", get(events))
            .route("/ari/channels", post(originate).get(none))
            .route("/ari/bridges", get(none))
            .fallback(|_: Uri| async { Json(json!({})) })
            .with_state(ari);
        tokio::spawn(async move { axum::serve(listener, app).await });
        // A port that is free now.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = free.local_addr().unwrap();
        drop(free);
        let account = AsteriskAccount {
            ari_url: format!("http://{address}/ari"),
            user: "u".into(),
            password: Key::new("p"),
            app: "ringback".into(),
            endpoint: Template::endpoint("PJSIP/{number}@trunk").unwrap(),
            refer: None,
            from: None,
            media: Media::AudioSocket {
                listen,
                reached_at: listen.to_string(),
            },
        };
        let trunk = account.trunk("", crate::site::clock()).unwrap();
        tokio::spawn(trunk.event_listener.unwrap()(node.endpoint.clone()));
        Self {
            node,
            carrier: trunk.carrier,
            listen,
            tickets: Mutex::new(tickets),
        }
    }

    async fn next_ticket(&self) -> Uuid {
        let mut tickets = self.tickets.lock().await;
        timeout(SOON, tickets.recv()).await.unwrap().unwrap()
    }

    fn back(&self, attempt: AttemptId) -> WayBack {
        let token = self.node.token(attempt);
        WayBack {
            attempt,
            status_token: token.proof(Purpose::Status),
            media_token: token.proof(Purpose::Media),
        }
    }

    /// Returns an answered call and the ticket of its audio.
    async fn call(&self) -> (AttemptId, Uuid) {
        let attempt = self.node.call();
        let WayBack {
            status_token,
            media_token,
            ..
        } = self.back(attempt);
        let request = DialRequest {
            attempt,
            from: None,
            to: "+15550000002".parse().unwrap(),
            ring_timeout: Duration::from_secs(30),
            status_token,
            media_token,
            detect_machine: false,
            hints: Default::default(),
            last_look: Default::default(),
        };
        self.carrier.dial(&request).await.unwrap();
        (attempt, self.next_ticket().await)
    }

    async fn connect(&self) -> Connection {
        Connection(TcpStream::connect(self.listen).await.unwrap())
    }

    /// Returns a connection that its call has taken.
    async fn talk(&self) -> (AttemptId, Connection, Seen) {
        let (attempt, ticket) = self.call().await;
        let mut connection = self.connect().await;
        connection.send(&uuid(ticket)).await;
        (attempt, connection, self.node.taken(attempt).await)
    }
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind][..], &length, payload].concat()
}

fn uuid(ticket: Uuid) -> Vec<u8> {
    frame(1, ticket.as_bytes())
}

struct Connection(TcpStream);

impl Connection {
    /// Ignores errors, because the service may close first.
    async fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Returns everything received until the connection is closed.
    async fn until_closed(&mut self) -> Vec<u8> {
        let mut came = Vec::new();
        let _ = timeout(SOON, self.0.read_to_end(&mut came))
            .await
            .expect("it is not closed");
        came
    }

    /// Returns whether audio still gets through. Otherwise the connection was closed.
    async fn stands(&mut self, seen: &mut Seen, number: usize) -> bool {
        let probe = [7, 7, number.to_le_bytes()[0], number.to_le_bytes()[1]].repeat(80);
        self.send(&frame(0x10, &probe)).await;
        seen.until(&InboundItem::Audio(probe)).await.is_some()
    }
}

/// State of a connection after a message in the middle of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Closed,
    Borne,
    /// The bytes may be an incomplete message, and the rest never comes.
    Torn,
}

fn hostile(random: &mut StdRng) -> (Vec<u8>, Becomes) {
    let mut bytes = |most: usize| -> Vec<u8> { (0..random.random_range(0..most)).map(|_| random.random()).collect() };
    let (some, many) = (bytes(40), bytes(2_000));
    let odd = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() / 2 * 2);
        bytes.push(0);
        bytes
    };
    match random.random_range(0..13) {
        0 => (frame(0x10, &odd(many)), Becomes::Closed),
        1 => (frame(random.random_range(0x11..0x19), &many), Becomes::Closed),
        2 => (frame(0xff, &some), Becomes::Closed),
        3 => (uuid(Uuid::new_v4()), Becomes::Closed),
        4 => (frame(1, &some[..some.len().min(15)]), Becomes::Closed),
        5 => (frame(3, &[]), Becomes::Closed),
        6 => (frame(3, &[b"12", &some[..]].concat()), Becomes::Closed),
        7 => (
            frame(3, &[*[0, 0xff, b'E', b' '].choose(random).unwrap()]),
            Becomes::Borne,
        ),
        8 => (frame(random.random_range(0x20..0xff), &many), Becomes::Borne),
        9 => (frame(0x10, &[]), Becomes::Borne),
        10 => (frame(0x42, &vec![0; 65_535]), Becomes::Borne),
        11 => ([&[0x10, 0xff, 0xff][..], &many].concat(), Becomes::Torn),
        _ => (many, Becomes::Torn),
    }
}

#[tokio::test]
async fn hostile_frames_close_their_connection_and_touch_no_other_call() {
    let panics = count_panics();
    let place = Place::start().await;
    let (_, mut other, mut others) = place.talk().await;
    let mut random = StdRng::seed_from_u64(7);
    let mut now: Option<(Connection, Seen)> = None;
    let (mut closed, mut borne) = (0, 0);
    for number in 0..messages() {
        let (mut connection, mut seen) = match now.take() {
            Some(now) => now,
            None => {
                let (_, connection, seen) = place.talk().await;
                (connection, seen)
            }
        };
        let (bytes, becomes) = hostile(&mut random);
        let about = || format!("{number} {becomes:?} {:?}", &bytes[..bytes.len().min(20)]);
        connection.send(&bytes).await;
        match becomes {
            Becomes::Borne => {
                assert!(connection.stands(&mut seen, number).await, "{}", about());
                borne += 1;
                now = Some((connection, seen)).filter(|_| number % 40 != 0);
            }
            Becomes::Closed => {
                assert!(seen.is_broken_off().await, "{}", about());
                connection.until_closed().await;
                closed += 1;
            }
            Becomes::Torn => {
                let _ = connection.0.shutdown().await;
                assert!(seen.closed().await.is_some(), "{}", about());
                connection.until_closed().await;
                closed += 1;
            }
        }
        if number % LOOK_EVERY == 0 {
            assert!(other.stands(&mut others, number).await, "{}", about());
            let sent = others.leg.outbound.send(OutboundItem::Audio(vec![1; 320])).await;
            let heard = timeout(SOON, other.0.read_exact(&mut [0; 323])).await;
            assert!(sent.is_ok() && matches!(heard, Ok(Ok(_))), "{}", about());
        }
    }
    assert!(closed > borne / 2 && borne > 0, "{closed} closed, {borne} borne");
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn floods_of_frames_are_cut_off() {
    let place = Place::start().await;
    let (_, mut other, mut others) = place.talk().await;
    for flood in [frame(0x10, &[1; 320]), frame(0x42, &[]), frame(0x10, &[1; 2])] {
        let (_, connection, mut seen) = place.talk().await;
        let (mut reader, mut writer) = connection.0.into_split();
        let writing = async {
            for _ in 0..10_000 {
                if writer.write_all(&flood).await.is_err() {
                    return;
                }
            }
        };
        let reading = async {
            let _ = reader.read_to_end(&mut Vec::new()).await;
        };
        tokio::join!(writing, timeout(SOON, reading))
            .1
            .expect("it is not closed");
        assert!(seen.is_broken_off().await);
        assert!(other.stands(&mut others, 1).await);
    }
}

#[tokio::test]
async fn no_ticket_opens_a_call_that_is_not_its_own() {
    let place = Place::start().await;
    let (_, mut other, mut others) = place.talk().await;
    let (attempt, first) = place.call().await;
    // The call requests its audio again, so its first ticket is invalid.
    let call = domain::ports::carrier::CarrierCallId(format!("ringback.{attempt}"));
    place.carrier.reopen_media(&call, &place.back(attempt)).await.unwrap();
    let second = place.next_ticket().await;
    let (over, of_one_over) = place.call().await;
    place.node.forget(over);
    for bytes in [
        uuid(first),
        uuid(Uuid::new_v4()),
        uuid(Uuid::nil()),
        // The ticket of a finished call.
        uuid(of_one_over),
        frame(1, &second.as_bytes()[..15]),
        frame(1, &[second.as_bytes(), &[0][..]].concat()),
        // Anything else first.
        [frame(0x10, &[0; 320]), uuid(second)].concat(),
        frame(0, &[]),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let mut connection = place.connect().await;
        connection.send(&bytes).await;
        // An incomplete frame waits for its rest.
        let _ = connection.0.shutdown().await;
        assert_eq!(connection.until_closed().await, b"", "{bytes:?}");
    }
    let mut connection = place.connect().await;
    // In pieces, as over a slow network.
    let (front, rest) = (uuid(second)[..7].to_vec(), uuid(second)[7..].to_vec());
    connection.send(&front).await;
    tokio::task::yield_now().await;
    connection.send(&rest).await;
    let mut seen = place.node.taken(attempt).await;
    assert!(connection.stands(&mut seen, 1).await);
    // A used ticket.
    let mut again = place.connect().await;
    again.send(&uuid(second)).await;
    assert_eq!(again.until_closed().await, b"");
    assert!(connection.stands(&mut seen, 2).await && other.stands(&mut others, 2).await);
}

#[tokio::test]
async fn who_shows_nothing_is_dropped_beyond_a_bound_and_keeps_nobody_out_for_long() {
    let place = Place::start().await;
    let (attempt, ticket) = place.call().await;
    let mut silent = Vec::new();
    for _ in 0..WAITING {
        silent.push(place.connect().await);
    }
    // The service accepts connections in order.
    assert_eq!(place.connect().await.until_closed().await, b"");
    drop(silent);
    let limit = tokio::time::Instant::now() + SOON;
    let mut seen = loop {
        let mut connection = place.connect().await;
        connection.send(&uuid(ticket)).await;
        let seen = tokio::select! {
            seen = place.node.taken(attempt) => Some(seen),
            _ = connection.until_closed() => None,
        };
        if let Some(seen) = seen {
            break (connection, seen);
        }
        assert!(tokio::time::Instant::now() < limit, "it is kept out");
    };
    assert!(seen.0.stands(&mut seen.1, 1).await);
}
