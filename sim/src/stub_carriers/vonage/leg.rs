//! The legs a stub knows, and what is told of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use domain::time::{Clock, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::Stub;
use crate::stub_carriers::{
    delivery::{self, Delivery},
    locked,
    phones::{Phone, Refused},
};

/// How a leg stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Started,
    Ringing,
    Answered,
    /// The status, and the detail where there is one.
    Over(&'static str, Option<&'static str>),
}

impl Stage {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Queued | Self::Started => "started",
            Self::Ringing => "ringing",
            Self::Answered => "answered",
            Self::Over(status, _) => status,
        }
    }

    /// By the cause that a phone's line gives.
    pub(super) fn ended(cause: &str) -> Self {
        match cause {
            "completed" => Self::Over("completed", None),
            "busy" => Self::Over("busy", None),
            "no-answer" => Self::Over("unanswered", Some("timeout")),
            "canceled" => Self::Over("cancelled", None),
            "rejected" => Self::Over("rejected", Some("declined")),
            _ => Self::Over("failed", Some("internal_error")),
        }
    }

    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Over(..))
    }
}

/// What a leg is to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// Its name; empty for a new one.
    pub(super) uuid: String,
    /// The telephone of the exchange that is rung.
    pub(super) phone: String,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub(super) persona: Option<String>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) event_url: String,
    pub(super) ring_seconds: f64,
    /// What is done once it is answered.
    pub(super) ncco: Vec<Value>,
    pub(super) detects_machines: bool,
    /// Placed by the API, or by instructions; otherwise it comes from outside.
    pub(super) is_outbound: bool,
    /// Whoever asked for it tells of its failure.
    pub(super) fails_in_silence: bool,
}

/// A change to a leg that talks.
pub(super) enum Change {
    /// Other instructions.
    Instead(Vec<Value>),
    /// Keys to press.
    Keys(String),
}

/// One leg.
pub(super) struct Leg {
    pub(super) uuid: String,
    pub(super) order: Order,
    pub(super) created: Timestamp,
    line: OnceLock<String>,
    stage: watch::Sender<Stage>,
    events: Mutex<Option<mpsc::Sender<Value>>>,
    changes: mpsc::Sender<Change>,
    waiting: Mutex<Option<mpsc::Receiver<Change>>>,
}

impl Leg {
    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// The changes that come; for the first that asks.
    pub(super) fn changes(&self) -> Option<mpsc::Receiver<Change>> {
        locked(&self.waiting).take()
    }

    /// Whether a leg takes a change.
    pub(super) fn change(&self, change: Change) -> bool {
        self.stage() == Stage::Answered && self.changes.try_send(change).is_ok()
    }

    /// The exchange's name of its line.
    pub(super) fn line(&self) -> &str {
        self.line.get().map_or("", String::as_str)
    }

    /// What every event of it says.
    pub(super) fn event(&self, status: &str) -> Value {
        let Order { from, to, .. } = &self.order;
        json!({
            "from": from, "to": to, "uuid": self.uuid, "conversation_uuid": format!("CON-{}", self.uuid),
            "status": status, "direction": self.direction(), "timestamp": "2026-01-01T12:00:00.000Z",
        })
    }

    fn direction(&self) -> &'static str {
        if self.order.is_outbound { "outbound" } else { "inbound" }
    }

    /// The leg goes on, which is told; there are fewer events than may wait.
    pub(super) fn becomes(&self, stage: Stage) {
        self.stage.send_replace(stage);
        let mut events = locked(&self.events);
        let Some(told) = events.as_ref() else { return };
        let fails = stage.is_over() && stage.status() != "completed";
        if !(fails && self.order.fails_in_silence) {
            let mut event = self.event(stage.status());
            if let Stage::Over(_, Some(detail)) = stage {
                event["detail"] = json!(detail);
            }
            let _ = told.try_send(event);
        }
        if stage == Stage::Answered && self.order.detects_machines {
            let _ = told.try_send(self.verdict());
        }
        if stage.is_over() {
            *events = None;
        }
    }

    /// The exchange has mailboxes at numbers that end in 8.
    pub(super) fn is_machine(&self) -> bool {
        self.order.to.ends_with('8')
    }

    /// A mailbox has beeped.
    pub(super) fn beeped(&self) {
        let mut event = self.verdict();
        event["sub_state"] = json!("beep_start");
        if let Some(told) = locked(&self.events).as_ref() {
            let _ = told.try_send(event);
        }
    }

    fn verdict(&self) -> Value {
        let mut event = self.event(if self.is_machine() { "machine" } else { "human" });
        event["call_uuid"] = event["uuid"].take();
        if let Some(event) = event.as_object_mut() {
            event.remove("uuid");
        }
        event
    }

    /// As the API shows it.
    pub(super) fn shown(&self) -> Value {
        let Order { from, to, .. } = &self.order;
        // A call that was not answered has no beginning.
        let start = match self.stage() {
            Stage::Answered | Stage::Over("completed", _) => json!(self.created.to_iso8601()),
            _ => Value::Null,
        };
        json!({
            "uuid": self.uuid, "conversation_uuid": format!("CON-{}", self.uuid), "status": self.stage().status(),
            "direction": self.direction(), "start_time": start, "price": "0.01",
            "from": { "type": "phone", "number": from }, "to": { "type": "phone", "number": to },
        })
    }
}

/// All of them.
pub(super) struct Legs {
    clock: Arc<dyn Clock>,
    legs: Mutex<BTreeMap<String, Arc<Leg>>>,
    last_order: Mutex<Value>,
}

impl Legs {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            legs: Mutex::default(),
            last_order: Mutex::default(),
        }
    }

    pub(super) fn keep_order(&self, order: Value) {
        *locked(&self.last_order) = order;
    }

    pub(super) fn last_order(&self) -> Value {
        locked(&self.last_order).clone()
    }

    pub(super) fn get(&self, uuid: &str) -> Option<Arc<Leg>> {
        locked(&self.legs).get(uuid).cloned()
    }

    /// The newest first.
    pub(super) fn all(&self) -> Vec<Arc<Leg>> {
        let mut legs: Vec<_> = locked(&self.legs).values().cloned().collect();
        legs.sort_by_key(|leg| std::cmp::Reverse(leg.created));
        legs
    }

    fn add(&self, order: Order) -> (Arc<Leg>, mpsc::Receiver<Value>) {
        let (events, told) = mpsc::channel(delivery::WAITING);
        let (changes, waiting) = mpsc::channel(4);
        let uuid = Some(order.uuid.clone()).filter(|uuid| !uuid.is_empty());
        let leg = Arc::new(Leg {
            uuid: uuid.unwrap_or_else(|| Uuid::new_v4().to_string()),
            order,
            created: self.clock.now(),
            line: OnceLock::new(),
            stage: watch::Sender::new(Stage::Queued),
            events: Mutex::new(Some(events)),
            changes,
            waiting: Mutex::new(Some(waiting)),
        });
        locked(&self.legs).insert(leg.uuid.clone(), leg.clone());
        (leg, told)
    }
}

/// Rings a telephone.
pub(super) async fn ring(stub: &Arc<Stub>, order: Order) -> Result<Arc<Leg>, Refused> {
    let (phone, seconds) = (order.phone.clone(), order.ring_seconds);
    let (leg, told) = stub.legs.add(order);
    let phone = Phone {
        number: &phone,
        persona: leg.order.persona.as_ref(),
        ring_seconds: seconds,
    };
    match stub.phones.call(&stub.here, &leg.uuid, phone).await {
        Ok(line) => drop(leg.line.set(line)),
        Err(refused) => {
            locked(&stub.legs.legs).remove(&leg.uuid);
            return Err(refused);
        }
    }
    // Its line may have reported already.
    if leg.stage() == Stage::Queued {
        leg.becomes(Stage::Started);
    }
    tokio::spawn(tell(stub.clone(), leg.clone(), told));
    Ok(leg)
}

/// Tells of one leg all that is to be told.
async fn tell(stub: Arc<Stub>, leg: Arc<Leg>, told: mpsc::Receiver<Value>) {
    let mut delivery = Delivery::new(stub.callbacks, told);
    while let Some(event) = delivery.next().await {
        if !stub.faults.no_events {
            stub.tell(&leg.order.event_url, &event).await;
        }
    }
}
