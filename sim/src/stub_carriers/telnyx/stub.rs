//! The state of the stub, and its settings.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ring::signature::Ed25519KeyPair;
use serde_json::Value;

use super::{
    audio::{ByteOrder, Codec},
    call::Calls,
};
use crate::stub_carriers::{base::StubBase, settings::StubCarrierSettings};

/// Seed of the key that signs webhooks.
pub(super) const SEED: [u8; 32] = [7; 32];
/// The only API key that is accepted.
pub const API_KEY: &str = "KEY-of-the-stub";
/// The only application that places calls.
pub const CONNECTION: &str = "1293384261075731499";

/// Settings of the stub.
#[derive(Debug, Clone)]
pub struct TelnyxSettings {
    /// Settings that all stubs share.
    pub carrier: StubCarrierSettings,
    /// Codec of the callees' audio, whatever was requested.
    pub heard_in: Option<Codec>,
    /// Byte order of L16 samples.
    pub order: ByteOrder,
    /// Calls on one page of a list.
    pub page: usize,
    /// Faults.
    pub faults: TelnyxFaults,
}

/// Faults of the stub.
#[derive(Debug, Clone, Copy, Default)]
pub struct TelnyxFaults {
    /// No webhook is sent at all.
    pub no_webhooks: bool,
    /// Every seventh frame changes places with the next.
    pub shuffled_frames: bool,
    /// The media sockets of dials are opened while they ring.
    pub early_streams: bool,
    /// Telnyx does not report a broken media socket and goes on believing in it.
    pub unnoticed_losses: bool,
    /// Number of media sockets that are not opened.
    pub streams_refused: usize,
    /// Reports of inbound calls always go to the application's own address.
    pub own_address_only: bool,
    /// Number of commands that are answered with a server error although they are carried out.
    pub broken_commands: usize,
    /// Delay of the webhooks of this event.
    pub late: Option<(&'static str, Duration)>,
}

impl TelnyxSettings {
    /// Returns the settings of a Telnyx without faults.
    pub fn of(carrier: StubCarrierSettings) -> Self {
        Self {
            carrier,
            heard_in: None,
            order: ByteOrder::Big,
            page: 250,
            faults: TelnyxFaults::default(),
        }
    }
}

/// The stub. If callbacks are not in order, webhooks are late, too: the earlier the later.
pub struct Telnyx {
    pub(super) base: StubBase,
    pub(super) settings: TelnyxSettings,
    pub(super) key: Ed25519KeyPair,
    pub(super) refused: AtomicUsize,
    pub(super) broken: AtomicUsize,
    pub(super) commands: Mutex<Vec<(String, Value)>>,
    pub(super) calls: Calls,
    pub(super) orders: Mutex<Vec<Value>>,
}

/// Takes one of the remaining ones; returns `false` if none is left.
pub(super) fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok()
}
