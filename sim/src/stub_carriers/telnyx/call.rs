//! One leg that the stub knows: what was asked for it, and what its telephone is to do next.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::AtomicBool},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::media::Stream;
use crate::stub_carriers::{legs, locked};

/// A stream that was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct StreamAsk {
    pub stream_url: String,
    pub stream_codec: String,
    pub stream_bidirectional_mode: String,
    pub stream_bidirectional_codec: String,
    pub stream_auth_token: String,
}

/// What a leg is to be, and what came of that.
#[derive(Default)]
pub struct Order {
    /// The telephone of the exchange that is rung.
    pub phone: String,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub persona: Option<String>,
    pub from: String,
    pub to: String,
    pub is_incoming: bool,
    pub ring_seconds: u64,
    pub command_id: Option<String>,
    /// Empty where nobody wants to know who answers.
    pub machine_detection: String,
    /// Where its webhooks go, and what they say of themselves. An answer changes both.
    pub reports: Mutex<(String, Option<String>)>,
    /// The stream that begins with the talk.
    pub first_stream: Mutex<Option<StreamAsk>>,
    /// It, where its socket is open before the talk.
    pub early_stream: Mutex<Option<Stream>>,
    /// Telnyx believes in a stream.
    pub streams: AtomicBool,
    pub commands: Mutex<BTreeSet<String>>,
}

/// A change to a leg that talks.
pub enum Change {
    Stream(StreamAsk),
    StopStream,
    /// Keys to press.
    Keys(String),
    /// Talk in this room.
    Room(String),
}

/// One leg. What is told of it is sent at once.
pub type Call = legs::Leg<Order, Change, ()>;

/// All of them.
pub type Calls = legs::Legs<Order, Change, ()>;

impl Call {
    /// Whether this command is new.
    pub fn is_new(&self, command: Option<&str>) -> bool {
        command.is_none_or(|id| locked(&self.order.commands).insert(id.to_owned()))
    }

    pub fn webhook_url(&self) -> String {
        locked(&self.order.reports).0.clone()
    }

    /// The exchange has mailboxes at numbers that end in 8.
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
