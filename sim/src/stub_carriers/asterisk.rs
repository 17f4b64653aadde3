//! Asterisk for tests, on real sockets: its REST interface and events, bridges, `chan_websocket` and
//! AudioSocket, in front of an exchange whose telephones it calls. Written from Asterisk's documents and
//! source. It injects faults on request.

mod ari;
mod audiosocket;
mod bridges;
mod channels;
mod events;
mod phones;
mod sound;
mod stub;
mod websocket;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, atomic::Ordering},
};

use axum::{Router, extract::ws::WebSocket};
use serde_json::{Value, json};

pub use self::stub::{Asterisk, AsteriskSettings, Originated, PASSWORD, TRUNK, USER, WEBSOCKET_CLIENT};
use self::{bridges::Bridges, channels::Channel, events::Events};
use super::{
    base::{Handle, Stub, StubBase, delivery::Callbacks, phones::Progress},
    settings::locked,
};
use crate::schema::Misfit;

impl Stub for Asterisk {
    type Leg = Channel;

    fn base(&self) -> &StubBase {
        &self.base
    }

    fn service(&self) -> &'static str {
        "asterisk"
    }

    fn refusal(&self, misfit: &Misfit) -> (u16, Value) {
        (400, json!({ "message": misfit.to_string() }))
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

/// A running stub. Dropping it cuts off all calls at once.
pub type AsteriskStub = Handle<Asterisk>;

impl AsteriskStub {
    /// Serves until it is dropped.
    ///
    /// # Errors
    /// Returns an error if the stub or the exchange behind it cannot listen.
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

    /// Returns the address for an account's `ari_url`.
    pub fn url(&self) -> String {
        format!("{}/ari", self.here())
    }

    /// Sets the address of media sockets, below the service at this address.
    pub fn serve_media_to(&self, service: &str) {
        let socket = service.replacen("http", "ws", 1);
        *locked(&self.0.media_uri) = format!("{socket}/carriers/asterisk/media");
    }

    /// Makes a telephone call a number; returns the id of its channel.
    pub async fn call_in(&self, from: &str, to: &str) -> String {
        phones::call_in(&self.0, from, to).await
    }

    /// Presses a key of a telephone.
    pub fn press(&self, channel: &str, key: char) {
        self.0.hears_key(channel, key);
    }

    /// Breaks the event socket; no new one is accepted until [`Self::let_events_in`].
    pub fn lose_events(&self) {
        self.0.events.close();
    }

    /// Accepts event sockets again.
    pub fn let_events_in(&self) {
        self.0.events.open();
    }

    /// Returns every request to create a channel of a telephone, as received.
    pub fn dialed_channels(&self) -> Vec<Originated> {
        let mut all = self.originated();
        all.retain(|of| of.endpoint.starts_with("PJSIP/"));
        all
    }

    /// Returns every request to create a channel, as received.
    pub fn originated(&self) -> Vec<Originated> {
        locked(&self.0.journal).originated.clone()
    }

    /// Returns the channels that were hung up by request, with the reason.
    pub fn hung_up(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).hung_up.clone()
    }

    /// Returns the channels whose far end was asked to call somebody else, with the target.
    pub fn redirected(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).redirected.clone()
    }

    /// Returns the keys that were pressed in channels by request.
    pub fn pressed(&self) -> Vec<(String, String)> {
        locked(&self.0.journal).pressed.clone()
    }

    /// Returns the milliseconds of audio discarded by each flush that found any.
    pub fn flushed_ms(&self) -> Vec<u64> {
        locked(&self.0.journal).flushed_ms.clone()
    }

    /// Makes the user of a channel's telephone hang up.
    pub async fn leave(&self, channel: &str) {
        if let Some(channel) = self.0.channel(channel) {
            self.phones.hang_up(&channel.line).await;
            self.0.destroy(&channel, 16, "Normal Clearing", None);
        }
    }

    /// Returns the ids of the existing channels.
    pub fn channels(&self) -> Vec<String> {
        locked(&self.0.channels).keys().cloned().collect()
    }

    /// Returns the existing bridges, with the channels in each.
    pub fn bridges(&self) -> BTreeMap<String, Vec<String>> {
        self.0.bridges.all()
    }

    /// Returns the number of event sockets accepted so far.
    pub fn event_sockets(&self) -> usize {
        self.0.events.sockets.load(Ordering::SeqCst)
    }
}
