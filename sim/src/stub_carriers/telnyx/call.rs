//! One leg that the stub knows: its order and the pending changes for its telephone.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::AtomicBool},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::media::Stream;
use crate::stub_carriers::{legs, settings::locked};

/// A requested stream.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct StreamAsk {
    pub stream_url: String,
    pub stream_codec: String,
    pub stream_bidirectional_mode: String,
    pub stream_bidirectional_codec: String,
    /// 0 for Telnyx's default, 8 kHz.
    pub stream_bidirectional_sampling_rate: u32,
    pub stream_auth_token: String,
}

/// Order of a leg, and its results.
#[derive(Default)]
pub struct Order {
    /// Telephone of the exchange to ring.
    pub phone: String,
    /// Persona of the callee; `None` leaves it to the stub's settings or the number's last digit.
    pub persona: Option<String>,
    pub from: String,
    pub to: String,
    pub is_incoming: bool,
    pub ring_seconds: u64,
    pub command_id: Option<String>,
    /// Empty if machine detection was not requested.
    pub machine_detection: String,
    /// Webhook address and client state. An answer changes both.
    pub reports: Mutex<(String, Option<String>)>,
    /// Stream that begins with the answer.
    pub first_stream: Mutex<Option<StreamAsk>>,
    /// The first stream, if its socket was opened before the answer.
    pub early_stream: Mutex<Option<Stream>>,
    /// Whether Telnyx believes that a stream is open.
    pub streams: AtomicBool,
    pub commands: Mutex<BTreeSet<String>>,
}

/// A change to an answered leg.
pub enum Change {
    Stream(StreamAsk),
    StopStream,
    /// Keys to press.
    Keys(String),
    /// Room to talk in.
    Room(String),
}

/// One leg. Its webhooks are sent at once.
pub type Call = legs::Leg<Order, Change, ()>;

/// All legs.
pub type Calls = legs::Legs<Order, Change, ()>;

impl Call {
    /// Returns whether this command is new.
    pub fn is_new(&self, command: Option<&str>) -> bool {
        command.is_none_or(|id| locked(&self.order.commands).insert(id.to_owned()))
    }

    pub fn webhook_url(&self) -> String {
        locked(&self.order.reports).0.clone()
    }

    /// Returns whether a mailbox answers: the exchange has mailboxes at numbers that end in 8.
    pub fn is_machine(&self) -> bool {
        self.order.to.ends_with('8')
    }

    pub fn shown(&self) -> Value {
        let id = &self.id;
        json!({
            "call_control_id": id, "call_leg_id": format!("leg-{id}"), "call_session_id": format!("session-{id}"),
            "record_type": "call", "client_state": locked(&self.order.reports).1, "is_alive": false,
        })
    }
}
