//! The calls that a stub knows, and the reports about each.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use chrono::DateTime;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};
use uuid::Uuid;

use super::{
    stub::{ACCOUNT, Flavour, Twilio},
    twiml::Verb,
};
use crate::stub_carriers::{
    base::{
        delivery::Delivery,
        phones::{Cause, Phone, Refused},
    },
    flow::Change,
    legs::{Leg, Legs, Stage},
    settings::Dial,
};

/// Time for which the carrier listens before it reports who answered.
const VERDICT_AFTER: Duration = Duration::from_secs(3);

/// Returns a call's status in the carrier's words.
pub fn status(stage: Stage) -> &'static str {
    match stage {
        Stage::Queued => "queued",
        Stage::Started => "initiated",
        Stage::Ringing => "ringing",
        Stage::Answered => "in-progress",
        Stage::Over(Cause::Completed) => "completed",
        Stage::Over(Cause::Busy) => "busy",
        Stage::Over(Cause::NoAnswer) => "no-answer",
        Stage::Over(Cause::Canceled) => "canceled",
        Stage::Over(Cause::Rejected | Cause::Failed) => "failed",
    }
}

fn sip_code(cause: Cause) -> u16 {
    match cause {
        Cause::Completed => 200,
        Cause::Busy => 486,
        Cause::NoAnswer | Cause::Canceled => 487,
        Cause::Rejected => 603,
        Cause::Failed => 500,
    }
}

/// Returns the event that a subscriber names for this stage.
fn event(stage: Stage) -> &'static str {
    match stage {
        Stage::Answered => "answered",
        Stage::Over(_) => "completed",
        other => status(other),
    }
}

/// Order of a call.
#[derive(Debug, Default)]
pub struct Order {
    /// Id of the call; empty for a new one.
    pub sid: String,
    /// Number and callback address.
    pub dial: Dial,
    /// Telephone of the exchange to ring, if it is not the number called.
    pub phone: String,
    /// Persona of the callee; `None` leaves it to the stub's settings or the number's last digit.
    pub persona: Option<String>,
    /// Events to report.
    pub events: Vec<String>,
    pub ring_seconds: f64,
    /// Instructions to follow once it is answered.
    pub verbs: Vec<Verb>,
    pub direction: &'static str,
    /// Address of the machine detection's result.
    pub verdict_url: Option<String>,
    /// Number of stages that it went through.
    pub stages: AtomicU32,
}

/// A stage and its `SequenceNumber`.
type Numbered = (Stage, u32);

/// One call.
pub type Call = Leg<Order, Change<Verb>, Numbered>;

/// All calls.
pub type Calls = Legs<Order, Change<Verb>, Numbered>;

impl Call {
    /// Enters a stage and reports it if that was requested.
    pub fn becomes(&self, stage: Stage) {
        self.is_at(stage);
        let number = self.order.stages.fetch_add(1, Ordering::SeqCst);
        if self.order.events.iter().any(|asked| asked == event(stage)) {
            self.tell((stage, number));
        }
        if stage.is_over() {
            self.told_all();
        }
    }

    /// Returns the fields of every webhook about it.
    pub fn fields(&self, stage: Stage) -> BTreeMap<String, String> {
        owned([
            ("CallSid", self.id.as_str()),
            ("AccountSid", ACCOUNT),
            ("From", &self.order.dial.from),
            ("To", &self.order.dial.to),
            ("CallStatus", status(stage)),
            ("Direction", self.order.direction),
            ("ApiVersion", "2010-04-01"),
        ])
    }

    /// Returns a part of the API's resource.
    pub fn shown(&self) -> Value {
        let created = DateTime::from_timestamp_micros(self.created.0).unwrap_or_default();
        let Dial { to, from, .. } = &self.order.dial;
        json!({
            "sid": self.id, "account_sid": ACCOUNT, "to": to, "from": from, "status": status(self.stage()),
            "direction": self.order.direction, "date_created": created.to_rfc2822(), "start_time": null,
            "answered_by": null, "price": null,
        })
    }
}

pub fn owned<const N: usize>(fields: [(&str, &str); N]) -> BTreeMap<String, String> {
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Creates a call, and rings its telephone once it may start.
pub async fn ring(stub: &Arc<Twilio>, order: Order) -> Result<Arc<Call>, Refused> {
    let sid = Some(order.sid.clone()).filter(|sid| !sid.is_empty());
    let sid = sid.unwrap_or_else(|| format!("CA{}", Uuid::new_v4().simple()));
    let (call, told) = stub.calls.add(sid, order, stub.base.clock.now());
    match stub.faults.queued.filter(|_| call.order.direction == "outbound-api") {
        Some(wait) => drop(tokio::spawn(later(stub.clone(), call.clone(), wait))),
        None => {
            if let Err(refused) = start(stub, &call).await {
                stub.calls.remove(&call.id);
                return Err(refused);
            }
        }
    }
    tokio::spawn(tell(stub.clone(), call.clone(), told));
    if call.order.verdict_url.is_some() {
        tokio::spawn(judge(stub.clone(), call.clone()));
    }
    Ok(call)
}

async fn later(stub: Arc<Twilio>, call: Arc<Call>, wait: Duration) {
    sleep(wait).await;
    if call.stage() == Stage::Queued
        && let Err(refused) = start(&stub, &call).await
    {
        stub.base.complain(format!("no telephone: {refused:?}"));
    }
}

/// Rings a telephone.
async fn start(stub: &Twilio, call: &Call) -> Result<(), Refused> {
    let order = &call.order;
    let number = Some(order.phone.clone()).filter(|phone| !phone.is_empty());
    let phone = Phone {
        number: &number.unwrap_or_else(|| telephone(&order.dial.to)),
        persona: order.persona.as_ref(),
        ring_seconds: order.ring_seconds,
    };
    let line = stub.base.phones.call(&stub.base.here(), &call.id, phone).await?;
    let _ = call.line.set(line);
    // Its line may have reported already.
    if call.stage() == Stage::Queued {
        call.becomes(Stage::Started);
    }
    Ok(())
}

/// Returns the telephone at an address; that of a SIP address is its user.
pub fn telephone(to: &str) -> String {
    let user = to.strip_prefix("sip:").and_then(|address| address.split('@').next());
    user.unwrap_or(to).to_owned()
}

/// Sends all status callbacks of one call.
async fn tell(stub: Arc<Twilio>, call: Arc<Call>, told: mpsc::Receiver<Numbered>) {
    let mut delivery = Delivery::new(stub.base.callbacks, told);
    while let Some((stage, number)) = delivery.next().await {
        let mut form = call.fields(stage);
        form.insert("SequenceNumber".to_owned(), number.to_string());
        form.insert("CallbackSource".to_owned(), "call-progress-events".to_owned());
        if let Stage::Over(cause) = stage {
            let name = match stub.flavour {
                Flavour::Twilio => "SipResponseCode",
                Flavour::SignalWire => "SipResultCode",
            };
            form.insert(name.to_owned(), sip_code(cause).to_string());
        }
        let (answer, _) = stub.tell(&call.order.dial.status_url, &form).await;
        stub.base.told(status(stage), answer);
    }
}

/// Reports who answered. The exchange has mailboxes at numbers that end in 8.
async fn judge(stub: Arc<Twilio>, call: Arc<Call>) {
    call.settled().await;
    sleep(VERDICT_AFTER).await;
    let (Some(url), Stage::Answered) = (&call.order.verdict_url, call.stage()) else {
        return;
    };
    let machine = call.order.dial.to.ends_with('8');
    let answered_by = match (machine, stub.flavour) {
        (true, Flavour::Twilio) => "machine_start",
        (true, Flavour::SignalWire) => "machine",
        (false, _) => "human",
    };
    let form = owned([
        ("CallSid", call.id.as_str()),
        ("AccountSid", ACCOUNT),
        ("AnsweredBy", answered_by),
        ("MachineDetectionDuration", "3000"),
    ]);
    let (answer, _) = stub.tell(url, &form).await;
    stub.base.told(answered_by, answer);
}
