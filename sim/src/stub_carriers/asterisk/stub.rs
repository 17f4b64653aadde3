//! The state of the stub, and its settings.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{bridges::Bridges, channels::Channel, events::Events};
use crate::stub_carriers::{base::StubBase, settings::StubCarrierSettings};

/// User name of the stub.
pub const USER: &str = "ringback";
/// Password of the stub.
pub const PASSWORD: &str = "stub-password";
/// The only trunk.
pub const TRUNK: &str = "trunk";
/// The only section of `websocket_client.conf`.
pub const WEBSOCKET_CLIENT: &str = "ringback";

/// Settings of the stub.
#[derive(Debug, Clone)]
pub struct AsteriskSettings {
    /// Settings that all stubs share. If callbacks are not in order, every event comes twice, and every third
    /// one after the next. A stalled media connection sends nothing for that time, and then all of it.
    pub carrier: StubCarrierSettings,
    /// Whether media sockets use JSON instead of plain words.
    pub json: bool,
    /// Time after a SIP REFER until the far end leaves, with the target that it was to call; without it a
    /// REFER has no effect.
    pub refers_taken: Option<Duration>,
}

/// A request to create a channel, as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Originated {
    /// Endpoint to call.
    pub endpoint: String,
    /// Requested id of the channel.
    pub channel: String,
    /// Application of the channel.
    pub app: String,
    /// Caller ID.
    pub caller: String,
    /// Longest ringing time, in seconds.
    pub timeout: String,
}

/// The stub.
pub struct Asterisk {
    pub(super) base: StubBase,
    pub(super) settings: AsteriskSettings,
    /// Address of media sockets: `uri` in `websocket_client.conf`.
    pub(super) media_uri: Mutex<String>,
    pub(super) cut: AtomicBool,
    pub(super) channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    pub(super) bridges: Bridges,
    pub(super) events: Events,
    pub(super) journal: Mutex<Journal>,
}

/// Requests that the stub remembers.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) originated: Vec<Originated>,
    pub(super) hung_up: Vec<(String, String)>,
    pub(super) redirected: Vec<(String, String)>,
    pub(super) pressed: Vec<(String, String)>,
    pub(super) flushed_ms: Vec<u64>,
}

/// Returns an error response.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}
