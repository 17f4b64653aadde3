//! The carriers' endpoints in front of a switchboard with many calls, and the peers that connect to them.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use actors::{
    call::{CallMessage, LegRefusal},
    lines::LinesMessage,
    switchboard::Switchboard,
};
use carriers::{
    CarrierLink,
    asterisk::{
        self,
        account::{Codec, Media},
    },
    kind::Account,
    plain, simulated,
    telnyx::{account::TelnyxAccount, line::LineChoice, signature::WebhookKey},
    twilio::account::{Flavour, TwilioAccount},
    vonage::{
        account::{Rate, VonageAccount},
        token::ApplicationKey,
    },
};
use domain::{
    dial_token::{DialToken, Purpose},
    id::AttemptId,
    ports::media_leg::{InboundItem, MediaLeg},
    time::SystemClock,
};
use futures_util::{SinkExt, StreamExt};
use net::key::Key;
use sim::stub_carriers::{
    StubCarrierSettings,
    telnyx::{TelnyxSettings, TelnyxStub},
    vonage::PRIVATE_KEY,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue, protocol::frame::coding::CloseCode},
};

use super::{
    messages::Blow,
    protocols::{API_KEY, AUTH_TOKEN, Protocol, SECRET},
};
use support::fake_actor::answering_at_once;

/// Maximum wait for events that must come at once.
pub const SOON: Duration = Duration::from_secs(20);

enum Call {
    Waiting,
    Taken,
    /// A leg that waits for the test.
    Leg(Box<MediaLeg>),
}

#[derive(Default)]
struct Shared {
    calls: Mutex<HashMap<AttemptId, (DialToken, Call)>>,
    came: Notify,
}

impl Shared {
    fn calls(&self) -> MutexGuard<'_, HashMap<AttemptId, (DialToken, Call)>> {
        self.calls.lock().unwrap()
    }

    fn may(&self, attempt: AttemptId, proof: &str) -> Result<(), LegRefusal> {
        match self.calls().get(&attempt) {
            None => Err(LegRefusal::UnknownCall),
            Some((token, _)) if !token.verify(Purpose::Media, proof) => Err(LegRefusal::BadProof),
            Some((_, Call::Waiting)) => Ok(()),
            Some(_) => Err(LegRefusal::NotNow),
        }
    }
}

impl Shared {
    fn answer(&self, message: LinesMessage) {
        let LinesMessage::ToCall { attempt, message, .. } = message else {
            return;
        };
        match message {
            CallMessage::AskMedia { proof, reply, .. } => drop(reply.send(self.may(attempt, &proof))),
            CallMessage::Media { proof, leg, reply } => {
                let answer = self.may(attempt, &proof);
                if let (Ok(()), Some((_, call))) = (&answer, self.calls().get_mut(&attempt)) {
                    *call = Call::Leg(Box::new(leg));
                    self.came.notify_one();
                }
                let _ = reply.send(answer);
            }
            CallMessage::Progress { reply, .. } => drop(reply.send(Ok(()))),
            _ => {}
        }
    }
}

/// The endpoints, served.
pub struct Node {
    address: SocketAddr,
    pub endpoint: CarrierLink,
    shared: Arc<Shared>,
    _telnyx: TelnyxStub,
}

impl Node {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let public = format!("http://{address}");
        let clock = Arc::new(SystemClock);
        let twilio = TwilioAccount {
            flavour: Flavour::Twilio,
            base_url: "http://127.0.0.1:9".into(),
            account: "AC1".into(),
            user: "AC1".into(),
            password: Key::new("x"),
            signing_key: Key::new(AUTH_TOKEN),
            shared_key: None,
            from: None,
        };
        // Used only for its public key.
        let stub = TelnyxStub::start(TelnyxSettings::of(StubCarrierSettings::on_loopback(clock.clone(), &[])))
            .await
            .unwrap();
        let telnyx = TelnyxAccount {
            base_url: "http://127.0.0.1:9".into(),
            api_key: Key::new(API_KEY),
            public_key: WebhookKey::parse(&stub.public_key()).unwrap(),
            connection: "1".into(),
            from: None,
            line: LineChoice::default(),
            machines: Default::default(),
        };
        let vonage = VonageAccount {
            base_url: "http://127.0.0.1:9".into(),
            application: "a".into(),
            key: ApplicationKey::from_pem(PRIVATE_KEY).unwrap(),
            signature_secret: Key::new(SECRET),
            from: None,
            rate: Rate::Narrow,
        };
        let endpoints = [
            ("simulated", simulated::routes()),
            ("twilio", twilio.trunk(&public, clock.clone()).unwrap().routes),
            ("telnyx", telnyx.trunk(&public, clock.clone()).unwrap().routes),
            ("vonage", vonage.trunk(&public, clock).unwrap().routes),
            (
                "asterisk",
                asterisk::media_route::route(&Media::WebSocket {
                    client: "ringback".to_owned(),
                    codec: Codec::Slin16,
                }),
            ),
            ("plain", plain::trunk().routes),
        ];
        let shared = Arc::new(Shared::default());
        let answers = shared.clone();
        let lines = answering_at_once(move |message| answers.answer(message)).await;
        let endpoint = CarrierLink::new(Switchboard {
            lines: lines.into(),
            ..Switchboard::default()
        });
        let app = carriers::router(&endpoint, endpoints);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self {
            address,
            endpoint,
            shared,
            _telnyx: stub,
        }
    }

    /// Adds a call that waits for its socket.
    pub fn call(&self) -> AttemptId {
        let attempt = AttemptId::new();
        self.shared
            .calls()
            .insert(attempt, (DialToken::random(), Call::Waiting));
        attempt
    }

    /// Removes a finished call.
    pub fn forget(&self, attempt: AttemptId) {
        self.shared.calls().remove(&attempt);
    }

    /// Returns the token that proves a call's addresses.
    pub fn token(&self, attempt: AttemptId) -> DialToken {
        self.shared.calls()[&attempt].0.clone()
    }

    /// Opens the socket of a call at its own address. Returns the HTTP status if it is refused.
    pub async fn open(&self, protocol: Protocol, attempt: AttemptId) -> Result<Peer, u16> {
        let known = self
            .shared
            .calls()
            .get(&attempt)
            .map(|(token, _)| token.proof(Purpose::Media));
        let proof = known.unwrap_or_else(|| "0".repeat(64));
        self.open_at(protocol, attempt, &format!("{attempt}.{proof}")).await
    }

    /// Opens a socket at any address, with the carrier's credentials.
    pub async fn open_at(&self, protocol: Protocol, attempt: AttemptId, token: &str) -> Result<Peer, u16> {
        let address = self.address_of(protocol, token);
        let header = protocol.header(&address, attempt);
        self.connect(&address, header).await
    }

    /// Opens a socket at a call's address without the carrier's credentials.
    pub async fn open_bare(&self, protocol: Protocol, attempt: AttemptId) -> Result<Peer, u16> {
        let proof = self.token(attempt).proof(Purpose::Media);
        self.connect(&self.address_of(protocol, &format!("{attempt}.{proof}")), None)
            .await
    }

    fn address_of(&self, protocol: Protocol, token: &str) -> String {
        let before = match protocol {
            Protocol::AsteriskWords | Protocol::AsteriskJson => "?token=",
            _ => "/",
        };
        format!(
            "ws://{}/carriers/{}/media{before}{token}",
            self.address,
            protocol.name()
        )
    }

    async fn connect(&self, address: &str, header: Option<(&'static str, String)>) -> Result<Peer, u16> {
        let mut request = address.into_client_request().unwrap();
        if let Some((name, value)) = header {
            request
                .headers_mut()
                .insert(name, HeaderValue::from_str(&value).unwrap());
        }
        match connect_async_with_config(request, None, true).await {
            Ok((socket, _)) => Ok(Peer(socket)),
            Err(tungstenite::Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(other) => panic!("{address}: {other}"),
        }
    }

    /// Returns the leg of a call that has taken its socket.
    pub async fn taken(&self, attempt: AttemptId) -> Seen {
        timeout(SOON, self.leg(attempt)).await.expect("the call took no socket")
    }

    async fn leg(&self, attempt: AttemptId) -> Seen {
        loop {
            if let Some((_, call)) = self.shared.calls().get_mut(&attempt)
                && matches!(call, Call::Leg(_))
                && let Call::Leg(leg) = std::mem::replace(call, Call::Taken)
            {
                return Seen::of(*leg);
            }
            self.shared.came.notified().await;
        }
    }
}

/// A call's view of its socket.
pub struct Seen {
    pub leg: MediaLeg,
    waiting: Arc<Notify>,
}

impl Seen {
    fn of(leg: MediaLeg) -> Self {
        let waiting = Arc::new(Notify::new());
        let wake = waiting.clone();
        leg.inbound.set_waker(Box::new(move || wake.notify_one()));
        Self { leg, waiting }
    }

    /// Returns everything up to the mark, or `None` if the socket is closed before.
    pub async fn until_mark(&mut self, name: &str) -> Option<Vec<InboundItem>> {
        self.until(&InboundItem::Mark(name.to_owned())).await
    }

    /// Returns everything up to this item, or `None` if the socket is closed before.
    pub async fn until(&mut self, last: &InboundItem) -> Option<Vec<InboundItem>> {
        let mut items = Vec::new();
        let wait = async {
            loop {
                self.leg.inbound.drain(&mut items);
                if items.iter().any(|item| matches!(item, InboundItem::Closed { .. })) {
                    return false;
                }
                if items.last() == Some(last) {
                    return true;
                }
                self.waiting.notified().await;
            }
        };
        let came = timeout(SOON, wait).await.expect("neither what was sent nor an end");
        came.then_some(items)
    }

    /// Returns whether the socket closed without a goodbye.
    pub async fn is_broken_off(&mut self) -> bool {
        self.closed().await == Some(false)
    }

    /// Returns whether the socket closed with a goodbye, or `None` if it did not close.
    pub async fn closed(&mut self) -> Option<bool> {
        let mut items = Vec::new();
        let wait = async {
            loop {
                self.leg.inbound.drain(&mut items);
                match items.last() {
                    Some(InboundItem::Closed { .. }) => return,
                    // The close was seen before.
                    None if self.leg.outbound.is_closed() => return,
                    _ => self.waiting.notified().await,
                }
            }
        };
        timeout(SOON, wait).await.ok()?;
        Some(items.contains(&InboundItem::Closed { clean: true }))
    }
}

/// A client that opened a socket.
pub struct Peer(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Peer {
    pub async fn send(&mut self, message: Message) -> Result<(), tungstenite::Error> {
        self.0.send(message).await
    }

    /// Sends a hostile message. Ignores errors, because the service may close first.
    pub async fn strike(&mut self, blow: &Blow) {
        match blow {
            Blow::Message { message, .. } => drop(self.0.send(message.clone()).await),
            Blow::Raw(bytes) => {
                let stream = self.0.get_mut();
                let _ = stream.write_all(bytes).await;
                let _ = stream.flush().await;
            }
        }
    }

    /// Returns the code of the close frame, or `None` if the connection ended without one.
    pub async fn closed(&mut self) -> Option<CloseCode> {
        let wait = async {
            while let Some(Ok(message)) = self.0.next().await {
                if let Message::Close(frame) = message {
                    return frame.map(|frame| frame.code);
                }
            }
            None
        };
        timeout(SOON, wait).await.expect("neither open nor closed")
    }

    /// Returns whether audio arrives.
    pub async fn hears(&mut self, protocol: Protocol) -> bool {
        let wait = async {
            while let Some(Ok(message)) = self.0.next().await {
                if message.is_binary() || (message.is_text() && !protocol.is_binary()) {
                    return true;
                }
            }
            false
        };
        timeout(SOON, wait).await.unwrap_or(false)
    }

    /// Checks that a mark still gets through. Returns the close code otherwise.
    pub async fn stands(
        &mut self,
        protocol: Protocol,
        seen: &mut Seen,
        number: usize,
    ) -> Result<(), Option<CloseCode>> {
        let name = format!("probe{number}");
        let _ = self.0.send(protocol.mark(&name)).await;
        match seen.until_mark(&name).await {
            Some(_) => Ok(()),
            None => Err(self.closed().await),
        }
    }

    /// Checks that a call still takes the socket after a start. Returns the close code otherwise.
    pub async fn begins(
        &mut self,
        protocol: Protocol,
        node: &Node,
        attempt: AttemptId,
    ) -> Result<Seen, Option<CloseCode>> {
        // The earlier message may itself have been a start, so that this one is refused. The first result decides.
        if self.0.send(protocol.start()).await.is_err() {
            return Err(self.closed().await);
        }
        let seen = node.leg(attempt);
        let mut seen = tokio::select! {
            seen = seen => seen,
            code = self.closed() => return Err(code),
        };
        self.stands(protocol, &mut seen, 0).await.map(|()| seen)
    }
}
