//! Asterisk for tests, on real sockets: its REST interface and events, bridges, `chan_websocket` and AudioSocket, in front
//! of an exchange whose telephones it calls. Written from Asterisk's documents and source; it takes faults by order.

mod ari;
mod audiosocket;
mod bridges;
mod channels;
mod events;
mod phones;
mod sound;
mod websocket;

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, extract::ws::WebSocket};

use self::{bridges::Bridges, channels::Channel, events::Events};
use super::{
    Callbacks, StubBase, StubCarrierSettings,
    base::{Handle, Stub},
    locked,
    phones::Progress,
};

/// The stub's user.
pub const USER: &str = "ringback";
/// Its password.
pub const PASSWORD: &str = "stub-password";
/// The one trunk.
pub const TRUNK: &str = "trunk";
/// The one section of `websocket_client.conf`.
pub const WEBSOCKET_CLIENT: &str = "ringback";

/// How the stub is to behave.
#[derive(Debug, Clone)]
pub struct AsteriskSettings {
    /// What all stubs have. Where callbacks come in any order but the right one, every event comes twice, and every third
    /// one after the next. A media connection that stands still sends nothing for so long, and all of it then.
    pub carrier: StubCarrierSettings,
    /// Media sockets speak JSON, and not words.
    pub json: bool,
    /// So long after a SIP REFER the far end leaves, with whom it was to call; without it nothing comes of one.
    pub refers_taken: Option<Duration>,
}

/// A request to make a channel, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Originated {
    /// What is called.
    pub endpoint: String,
    /// The id it is to have.
    pub channel: String,
    /// The application.
    pub app: String,
    /// Caller ID.
    pub caller: String,
    /// How long it may ring, in seconds.
    pub timeout: String,
}

/// Asterisk.
pub struct Asterisk {
    base: StubBase,
    settings: AsteriskSettings,
    /// Where media sockets go: `uri` in `websocket_client.conf`.
    media_uri: Mutex<String>,
    cut: AtomicBool,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    bridges: Bridges,
    events: Events,
    journal: Mutex<Journal>,
}

/// What the stub remembers.
#[derive(Default)]
struct Journal {
    originated: Vec<Originated>,
    hung_up: Vec<(String, String)>,
    redirected: Vec<(String, String)>,
    pressed: Vec<(String, String)>,
    flushed_ms: Vec<u64>,
}

impl Asterisk {
    fn channel(&self, id: &str) -> Option<Arc<Channel>> {
        locked(&self.channels).get(id).cloned()
    }

    fn now(&self) -> String {
        self.base.clock.now().to_iso8601()
    }
}

impl Stub for Asterisk {
    type Leg = Channel;

    fn base(&self) -> &StubBase {
        &self.base
    }

    fn leg(&self, id: &str) -> Option<Arc<Channel>> {
        self.channel(id)
    }

    fn reported(self: &Arc<Self>, channel: &Arc<Channel>, progress: Progress) {
        phones::report(self, channel, progress);
    }

    async fn talk(self: Arc<Self>, channel: Arc<Channel>, phone: WebSocket) {
        phones::talk(self, channel, phone).await;
    }
}

/// A running stub. Dropping it cuts all calls off at once.
pub type AsteriskStub = Handle<Asterisk>;

impl AsteriskStub {
    /// Serves until it is dropped.
    ///
    /// # Errors
    ///
    /// When it, or the exchange behind it, cannot listen.
    pub async fn start(settings: AsteriskSettings) -> io::Result<Self> {
        let (base, listener) = StubBase::bind(settings.carrier.clone()).await?;
        let stub = Arc::new(Asterisk {
            media_uri: Mutex::default(),
            cut: base.cut_after.is_some().into(),
            channels: Mutex::default(),
            bridges: Bridges::default(),
            events: Events::new(base.callbacks != Callbacks::InOrder),
            journal: Mutex::default(),
            base,
            settings,
        });
        Ok(Self::serve(stub, listener, ari::routes(), Router::new()))
    }

    /// The address an account's `ari_url` takes.
    pub fn url(&self) -> String {
        format!("{}/ari", self.here())
    }

    /// Sets where media sockets go, below the service at this address.
    pub fn serve_media_to(&self, service: &str) {
        let socket = service.replacen("http", "ws", 1);
        *locked(&self.0.media_uri) = format!("{socket}/carriers/asterisk/media");
    }

    /// A telephone calls a number; the id of its channel.
    pub async fn call_in(&self, from: &str, to: &str) -> String {
        phones::call_in(&self.0, from, to).await
    }

    /// A telephone's key is pressed.
    pub fn press(&self, channel: &str, key: char) {
        self.0.hears_key(channel, key);
    }

    /// The events' socket breaks; none is taken until they are let in again.
    pub fn lose_events(&self) {
        self.0.events.close();
    }

    /// Events may be listened to again.
    pub fn let_events_in(&self) {
        self.0.events.open();
    }

    /// Every request to make a channel of a telephone, as it came.
    pub fn dialed_channels(&self) -> Vec<Originated> {
        let mut all = self.originated();
        all.retain(|of| of.endpoint.starts_with("PJSIP/"));
        all
    }

    /// Every request to make a channel, as it came.
    pub fn originated(&self) -> Vec<Originated> {
        locked(&self.0.journal).originated.clone()
    }

    /// Channels that were hung up by request, with the reason.
    pub fn hung_up(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).hung_up.clone()
    }

    /// Channels whose far end was asked to call somebody else, and whom.
    pub fn redirected(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).redirected.clone()
    }

    /// Keys that were pressed in channels by request.
    pub fn pressed(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).pressed.clone()
    }

    /// Milliseconds of audio that were thrown away by each flush that found any.
    pub fn flushed_ms(&self) -> Vec<u64> {
        locked(&self.0.journal).flushed_ms.clone()
    }

    /// The telephone of a channel is hung up by whoever holds it.
    pub async fn leave(&self, channel: &str) {
        if let Some(channel) = self.0.channel(channel) {
            self.phones.hang_up(&channel.line).await;
            self.0.destroy(&channel, (16, "Normal Clearing"), None);
        }
    }

    /// Channels there are, by id.
    pub fn channels(&self) -> Vec<String> {
        locked(&self.0.channels).keys().cloned().collect()
    }

    /// Bridges there are, with the channels in each.
    pub fn bridges(&self) -> BTreeMap<String, Vec<String>> {
        self.0.bridges.all()
    }

    /// Sockets for events that were taken so far.
    pub fn event_sockets(&self) -> usize {
        self.0.events.sockets.load(Ordering::SeqCst)
    }
}
