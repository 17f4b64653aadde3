//! The legs that a stub knows, and the reports about each.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::stub::Vonage;
use crate::stub_carriers::{
    base::{
        delivery::Delivery,
        phones::{Cause, Phone, Refused},
    },
    flow::Change,
    legs::{self, Stage},
};

/// Returns a leg's status in Vonage's words, and its detail if there is one.
pub fn status(stage: Stage) -> (&'static str, Option<&'static str>) {
    match stage {
        Stage::Queued | Stage::Started => ("started", None),
        Stage::Ringing => ("ringing", None),
        Stage::Answered => ("answered", None),
        Stage::Over(Cause::Completed) => ("completed", None),
        Stage::Over(Cause::Busy) => ("busy", None),
        Stage::Over(Cause::NoAnswer) => ("unanswered", Some("timeout")),
        Stage::Over(Cause::Canceled) => ("cancelled", None),
        Stage::Over(Cause::Rejected) => ("rejected", Some("declined")),
        Stage::Over(Cause::Failed) => ("failed", Some("internal_error")),
    }
}

/// Order of a leg.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// Id of the leg; empty for a new one.
    pub uuid: String,
    /// Telephone of the exchange to ring.
    pub phone: String,
    /// Persona of the callee; `None` leaves it to the stub's settings or the number's last digit.
    pub persona: Option<String>,
    pub from: String,
    pub to: String,
    pub event_url: String,
    pub ring_seconds: f64,
    /// Instructions to follow once it is answered.
    pub ncco: Vec<Value>,
    pub detects_machines: bool,
    /// Whether it was placed by the API or by instructions; otherwise it is inbound.
    pub is_outbound: bool,
    /// Whether its failure is reported by the flow that placed it.
    pub fails_in_silence: bool,
}

/// One leg.
pub type Leg = legs::Leg<Order, Change<Value>, Value>;

/// All legs.
pub type Legs = legs::Legs<Order, Change<Value>, Value>;

impl Leg {
    /// Returns the fields of every event of it.
    pub fn event(&self, status: &str) -> Value {
        let Order { from, to, .. } = &self.order;
        json!({
            "from": from, "to": to, "uuid": self.id, "conversation_uuid": format!("CON-{}", self.id),
            "status": status, "direction": self.direction(), "timestamp": "2026-01-01T12:00:00.000Z",
        })
    }

    fn direction(&self) -> &'static str {
        if self.order.is_outbound { "outbound" } else { "inbound" }
    }

    /// Returns the event of a stage.
    pub fn event_of(&self, stage: Stage) -> Value {
        let (status, detail) = status(stage);
        let mut event = self.event(status);
        if let Some(detail) = detail {
            event["detail"] = json!(detail);
        }
        event
    }

    /// Enters a stage and reports it.
    pub fn becomes(&self, stage: Stage) {
        self.is_at(stage);
        let fails = stage.is_over() && stage != Stage::Over(Cause::Completed);
        if !(fails && self.order.fails_in_silence) {
            self.tell(self.event_of(stage));
        }
        if stage == Stage::Answered && self.order.detects_machines {
            self.tell(self.verdict());
        }
        if stage.is_over() {
            self.told_all();
        }
    }

    /// Returns whether a mailbox answers: the exchange has mailboxes at numbers that end in 8.
    pub fn is_machine(&self) -> bool {
        self.order.to.ends_with('8')
    }

    /// Reports the beep of a mailbox.
    pub fn beeped(&self) {
        let mut event = self.verdict();
        event["sub_state"] = json!("beep_start");
        self.tell(event);
    }

    fn verdict(&self) -> Value {
        let mut event = self.event(if self.is_machine() { "machine" } else { "human" });
        event["call_uuid"] = event["uuid"].take();
        if let Some(event) = event.as_object_mut() {
            event.remove("uuid");
        }
        event
    }

    /// Returns the leg as the API shows it.
    pub fn shown(&self) -> Value {
        let Order { from, to, .. } = &self.order;
        // A call that was not answered has no start time.
        let start = match self.stage() {
            Stage::Answered | Stage::Over(Cause::Completed) => json!(self.created.to_iso8601()),
            _ => Value::Null,
        };
        json!({
            "uuid": self.id, "conversation_uuid": format!("CON-{}", self.id), "status": status(self.stage()).0,
            "direction": self.direction(), "start_time": start, "price": "0.01",
            "from": { "type": "phone", "number": from }, "to": { "type": "phone", "number": to },
        })
    }
}

/// Rings a telephone.
pub async fn ring(stub: &Arc<Vonage>, order: Order) -> Result<Arc<Leg>, Refused> {
    let uuid = Some(order.uuid.clone()).filter(|uuid| !uuid.is_empty());
    let uuid = uuid.unwrap_or_else(|| Uuid::new_v4().to_string());
    let (leg, told) = stub.legs.add(uuid, order, stub.base.clock.now());
    let phone = Phone {
        number: &leg.order.phone,
        persona: leg.order.persona.as_ref(),
        ring_seconds: leg.order.ring_seconds,
    };
    match stub.base.phones.call(&stub.base.here(), &leg.id, phone).await {
        Ok(line) => drop(leg.line.set(line)),
        Err(refused) => {
            stub.legs.remove(&leg.id);
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

/// Sends all events of one leg.
async fn tell(stub: Arc<Vonage>, leg: Arc<Leg>, told: mpsc::Receiver<Value>) {
    let mut delivery = Delivery::new(stub.base.callbacks, told);
    while let Some(event) = delivery.next().await {
        if !stub.faults.no_events {
            stub.tell(&leg.order.event_url, &event).await;
        }
    }
}
