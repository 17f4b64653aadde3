//! One leg that the stub knows: what was asked for it, how it stands, and what its telephone is to do next.

use std::{
    collections::BTreeSet,
    sync::{Mutex, OnceLock, atomic::AtomicBool},
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::{lock, media::Stream};

/// Changes that may wait for a telephone.
const WAITING: usize = 16;

/// How a leg stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Begun,
    Answered,
    Over,
}

/// A stream that was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamAsk {
    pub(super) stream_url: String,
    pub(super) stream_codec: String,
    pub(super) stream_bidirectional_mode: String,
    pub(super) stream_bidirectional_codec: String,
    pub(super) stream_auth_token: String,
}

/// What a leg is to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Leg {
    pub(super) id: String,
    /// The telephone of the exchange that is rung.
    pub(super) phone: String,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub(super) persona: Option<String>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) is_incoming: bool,
    pub(super) ring_seconds: u64,
    pub(super) webhook_url: String,
    pub(super) client_state: Option<String>,
    pub(super) command_id: Option<String>,
    pub(super) stream: Option<StreamAsk>,
    /// Empty where nobody wants to know who answers.
    pub(super) machine_detection: String,
}

/// A change to a leg that talks.
pub(super) enum Change {
    Stream(StreamAsk),
    StopStream,
    /// Keys to press.
    Keys(String),
    /// Talk in this room.
    Room(String),
}

/// One leg.
pub(super) struct Call {
    pub(super) leg: Leg,
    /// Where its webhooks go, and what they say of themselves. An answer changes both.
    reports: Mutex<(String, Option<String>)>,
    /// The stream that begins with the talk.
    pub(super) first_stream: Mutex<Option<StreamAsk>>,
    /// It, where its socket is open before the talk.
    pub(super) early_stream: Mutex<Option<Stream>>,
    /// Telnyx believes in a stream.
    pub(super) streams: AtomicBool,
    /// Its name at the exchange, once that has taken it.
    pub(super) line: OnceLock<String>,
    stage: watch::Sender<Stage>,
    changes: mpsc::Sender<Change>,
    waiting: Mutex<Option<mpsc::Receiver<Change>>>,
    commands: Mutex<BTreeSet<String>>,
}

impl Call {
    pub(super) fn new(leg: Leg) -> Self {
        let (changes, waiting) = mpsc::channel(WAITING);
        Self {
            reports: Mutex::new((leg.webhook_url.clone(), leg.client_state.clone())),
            first_stream: Mutex::new(leg.stream.clone()),
            leg,
            early_stream: Mutex::default(),
            streams: false.into(),
            line: OnceLock::new(),
            stage: watch::Sender::new(Stage::Begun),
            changes,
            waiting: Mutex::new(Some(waiting)),
            commands: Mutex::default(),
        }
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    pub(super) fn becomes(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage() == Stage::Over
    }

    /// Waits for a stage, or for the end.
    pub(super) async fn until(&self, wanted: Stage) {
        let reached = |stage: &Stage| *stage == wanted || *stage == Stage::Over;
        let _ = self.stages().wait_for(reached).await;
    }

    /// Whether this command is new.
    pub(super) fn is_new(&self, command: Option<&str>) -> bool {
        command.is_none_or(|id| lock(&self.commands).insert(id.to_owned()))
    }

    pub(super) fn reports_to(&self, url: String, state: Option<String>) {
        *lock(&self.reports) = (url, state);
    }

    pub(super) fn webhook_url(&self) -> String {
        lock(&self.reports).0.clone()
    }

    /// The changes that come; for the first that asks.
    pub(super) fn changes(&self) -> Option<mpsc::Receiver<Change>> {
        lock(&self.waiting).take()
    }

    /// Has the telephone do something.
    pub(super) fn change(&self, change: Change) -> bool {
        self.changes.try_send(change).is_ok()
    }

    /// The exchange has mailboxes at numbers that end in 8.
    pub(super) fn is_machine(&self) -> bool {
        self.leg.to.ends_with('8')
    }

    pub(super) fn shown(&self) -> Value {
        let id = &self.leg.id;
        json!({
            "call_control_id": id, "call_leg_id": format!("leg-{id}"), "call_session_id": format!("session-{id}"),
            "record_type": "call", "client_state": lock(&self.reports).1, "is_alive": false,
        })
    }
}
