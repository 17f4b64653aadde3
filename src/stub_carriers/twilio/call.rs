//! The calls a stub knows, and what is told of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use actors::time::{Clock, Timestamp};
use chrono::DateTime;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{ACCOUNT, Stub, form};
use crate::stub_carriers::{
    Delivered, Dial,
    delivery::{self, Delivery},
    locked,
};

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Initiated,
    Ringing,
    InProgress,
    /// The status, and the SIP code where there is one.
    Over(&'static str, Option<u16>),
}

impl Stage {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Initiated => "initiated",
            Self::Ringing => "ringing",
            Self::InProgress => "in-progress",
            Self::Over(status, _) => status,
        }
    }

    /// By the cause that a phone's line gives.
    pub(super) fn ended(cause: &str) -> Self {
        match cause {
            "completed" => Self::Over("completed", Some(200)),
            "busy" => Self::Over("busy", Some(486)),
            "no-answer" => Self::Over("no-answer", Some(487)),
            "canceled" => Self::Over("canceled", Some(487)),
            "rejected" => Self::Over("failed", Some(603)),
            _ => Self::Over("failed", Some(500)),
        }
    }
}

/// One call.
pub(super) struct Call {
    pub(super) dial: Dial,
    /// What its media socket shows, at SignalWire.
    pub(super) token: Option<String>,
    pub(super) created: Timestamp,
    pub(super) sid: OnceLock<String>,
    stage: Mutex<Stage>,
    callbacks: Mutex<Callbacks>,
}

/// Where callbacks go.
struct Callbacks {
    /// Gone when the call is over.
    told: Option<mpsc::Sender<Numbered>>,
    next: u32,
}

/// A stage and its `SequenceNumber`.
pub(super) type Numbered = (Stage, u32);

impl Call {
    pub(super) fn stage(&self) -> Stage {
        *locked(&self.stage)
    }

    pub(super) fn sid(&self) -> &str {
        self.sid.get().map_or("", String::as_str)
    }

    /// The call goes on, which is told; there are fewer stages than callbacks that may wait.
    pub(super) fn becomes(&self, stage: Stage) {
        *locked(&self.stage) = stage;
        let mut callbacks = locked(&self.callbacks);
        if let Some(told) = &callbacks.told {
            let _ = told.try_send((stage, callbacks.next));
        }
        callbacks.next += 1;
        if matches!(stage, Stage::Over(..)) {
            callbacks.told = None;
        }
    }

    /// The resource, in part.
    pub(super) fn shown(&self) -> Value {
        let created = DateTime::from_timestamp_micros(self.created.0).unwrap_or_default();
        json!({
            "sid": self.sid(), "account_sid": ACCOUNT, "to": self.dial.to, "from": self.dial.from,
            "status": self.stage().status(), "direction": "outbound-api", "date_created": created.to_rfc2822(),
            "start_time": null, "answered_by": null, "price": null,
        })
    }
}

/// All of them.
pub(super) struct Calls {
    clock: Arc<dyn Clock>,
    calls: Mutex<BTreeMap<String, Arc<Call>>>,
}

impl Calls {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            calls: Mutex::default(),
        }
    }

    /// Takes a call; what is to be told of it comes out at the other end.
    pub(super) fn add(&self, key: &str, dial: Dial, token: Option<String>) -> (Arc<Call>, mpsc::Receiver<Numbered>) {
        let (callbacks, waiting) = mpsc::channel(delivery::WAITING);
        let call = Arc::new(Call {
            dial,
            token,
            created: self.clock.now(),
            sid: OnceLock::new(),
            stage: Mutex::new(Stage::Queued),
            callbacks: Mutex::new(Callbacks {
                told: Some(callbacks),
                next: 0,
            }),
        });
        locked(&self.calls).insert(key.to_owned(), call.clone());
        (call, waiting)
    }

    pub(super) fn remove(&self, key: &str) {
        locked(&self.calls).remove(key);
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<Call>> {
        locked(&self.calls).get(key).cloned()
    }

    /// Oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = locked(&self.calls).values().cloned().collect();
        calls.sort_by_key(|call| call.created);
        calls
    }

    pub(super) fn named(&self, sid: &str) -> Option<Arc<Call>> {
        self.all().into_iter().find(|call| call.sid() == sid)
    }
}

/// Tells of one call all that is to be told.
pub(super) async fn tell(stub: Arc<Stub>, call: Arc<Call>, waiting: mpsc::Receiver<Numbered>) {
    let mut delivery = Delivery::new(stub.callbacks, waiting);
    while let Some((stage, number)) = delivery.next().await {
        send(&stub, &call, stage, number).await;
    }
}

async fn send(stub: &Stub, call: &Call, stage: Stage, number: u32) {
    let status = stage.status();
    let mut fields = vec![
        ("CallSid", call.sid().to_owned()),
        ("AccountSid", ACCOUNT.to_owned()),
        ("From", call.dial.from.clone()),
        ("To", call.dial.to.clone()),
        ("CallStatus", status.to_owned()),
        ("Direction", "outbound-api".to_owned()),
        ("ApiVersion", "2010-04-01".to_owned()),
        ("SequenceNumber", number.to_string()),
        ("CallbackSource", "call-progress-events".to_owned()),
    ];
    if let Stage::Over(_, Some(code)) = stage {
        fields.push(("SipResponseCode", code.to_string()));
    }
    let form: BTreeMap<String, String> = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let signature = form::sign(stub.key(), &call.dial.status_url, &form);
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&form)
        .finish();
    let sent = stub
        .client
        .post(&call.dial.status_url)
        .header("content-type", "application/x-www-form-urlencoded")
        .header(stub.signature_header(), signature)
        .body(body)
        .send()
        .await;
    locked(&stub.journal.delivered).push(Delivered {
        status: status.to_owned(),
        answer: sent.map_or(0, |answer| answer.status().as_u16()),
    });
}
