//! The calls a stub knows, and what is told of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use chrono::DateTime;
use domain::time::{Clock, Timestamp};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use uuid::Uuid;

use super::{ACCOUNT, Stub, twiml::Verb};
use crate::stub_carriers::{
    Delivered, Dial,
    delivery::{self, Delivery},
    locked,
    phones::{Phone, Refused},
};

/// How long the carrier listens before it says who answered.
const VERDICT_AFTER: Duration = Duration::from_secs(3);

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

    /// The event under which it is told, for those who asked for that.
    fn event(self) -> &'static str {
        match self {
            Self::InProgress => "answered",
            Self::Over(..) => "completed",
            other => other.status(),
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

    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Over(..))
    }
}

/// What a call is to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// Its name; empty for a new one.
    pub(super) sid: String,
    /// Who is called, and where it is told.
    pub(super) dial: Dial,
    /// The telephone of the exchange that is rung, where that is not the one that is called.
    pub(super) phone: String,
    /// Who speaks there; by the stub's settings or the number's last digit when none.
    pub(super) persona: Option<String>,
    /// The events that are told.
    pub(super) events: Vec<String>,
    pub(super) ring_seconds: f64,
    /// What is done once it is answered.
    pub(super) verbs: Vec<Verb>,
    pub(super) direction: &'static str,
    /// Where it is told who answered.
    pub(super) verdict_url: Option<String>,
}

/// One call.
pub(super) struct Call {
    pub(super) sid: String,
    pub(super) order: Order,
    created: Timestamp,
    line: OnceLock<String>,
    stage: watch::Sender<Stage>,
    callbacks: Mutex<Callbacks>,
    changes: mpsc::Sender<Vec<Verb>>,
    waiting: Mutex<Option<mpsc::Receiver<Vec<Verb>>>>,
}

/// Where callbacks go.
struct Callbacks {
    /// Gone when the call is over.
    told: Option<mpsc::Sender<Numbered>>,
    next: u32,
}

/// A stage and its `SequenceNumber`.
type Numbered = (Stage, u32);

impl Call {
    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// The instructions that come; for the first that asks.
    pub(super) fn changes(&self) -> Option<mpsc::Receiver<Vec<Verb>>> {
        locked(&self.waiting).take()
    }

    /// Whether a call takes other instructions.
    pub(super) fn instruct(&self, verbs: Vec<Verb>) -> bool {
        self.stage() == Stage::InProgress && self.changes.try_send(verbs).is_ok()
    }

    /// The exchange's name of its line.
    pub(super) fn line(&self) -> &str {
        self.line.get().map_or("", String::as_str)
    }

    /// The call goes on, which is told where that was asked for; there are fewer stages than callbacks that may wait.
    pub(super) fn becomes(&self, stage: Stage) {
        self.stage.send_replace(stage);
        let mut callbacks = locked(&self.callbacks);
        let asked = self.order.events.iter().any(|event| event == stage.event());
        if let Some(told) = callbacks.told.as_ref().filter(|_| asked) {
            let _ = told.try_send((stage, callbacks.next));
        }
        callbacks.next += 1;
        if stage.is_over() {
            callbacks.told = None;
        }
    }

    /// What every webhook about it tells.
    pub(super) fn fields(&self, stage: Stage) -> Vec<(String, String)> {
        let fields = [
            ("CallSid", self.sid.as_str()),
            ("AccountSid", ACCOUNT),
            ("From", &self.order.dial.from),
            ("To", &self.order.dial.to),
            ("CallStatus", stage.status()),
            ("Direction", self.order.direction),
            ("ApiVersion", "2010-04-01"),
        ];
        let owned = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        owned.into()
    }

    /// The resource, in part.
    pub(super) fn shown(&self) -> Value {
        let created = DateTime::from_timestamp_micros(self.created.0).unwrap_or_default();
        let Dial { to, from, .. } = &self.order.dial;
        json!({
            "sid": self.sid, "account_sid": ACCOUNT, "to": to, "from": from, "status": self.stage().status(),
            "direction": self.order.direction, "date_created": created.to_rfc2822(), "start_time": null,
            "answered_by": null, "price": null,
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
    fn add(&self, order: Order) -> (Arc<Call>, mpsc::Receiver<Numbered>) {
        let (callbacks, told) = mpsc::channel(delivery::WAITING);
        let (changes, waiting) = mpsc::channel(4);
        let sid = Some(order.sid.clone()).filter(|sid| !sid.is_empty());
        let call = Arc::new(Call {
            sid: sid.unwrap_or_else(|| format!("CA{}", Uuid::new_v4().simple())),
            order,
            created: self.clock.now(),
            line: OnceLock::new(),
            stage: watch::Sender::new(Stage::Queued),
            callbacks: Mutex::new(Callbacks {
                told: Some(callbacks),
                next: 0,
            }),
            changes,
            waiting: Mutex::new(Some(waiting)),
        });
        locked(&self.calls).insert(call.sid.clone(), call.clone());
        (call, told)
    }

    pub(super) fn get(&self, sid: &str) -> Option<Arc<Call>> {
        locked(&self.calls).get(sid).cloned()
    }

    /// Oldest first.
    pub(super) fn all(&self) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = locked(&self.calls).values().cloned().collect();
        calls.sort_by_key(|call| call.created);
        calls
    }
}

/// Takes a call, and rings its telephone once it may start.
pub(super) async fn ring(stub: &Arc<Stub>, order: Order) -> Result<Arc<Call>, Refused> {
    let (call, told) = stub.calls.add(order);
    match stub.faults.queued.filter(|_| call.order.direction == "outbound-api") {
        Some(wait) => drop(tokio::spawn(later(stub.clone(), call.clone(), wait))),
        None => {
            if let Err(refused) = start(stub, &call).await {
                locked(&stub.calls.calls).remove(&call.sid);
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

async fn later(stub: Arc<Stub>, call: Arc<Call>, wait: Duration) {
    sleep(wait).await;
    if call.stage() == Stage::Queued
        && let Err(refused) = start(&stub, &call).await
    {
        stub.complain(format!("no telephone: {refused:?}"));
    }
}

/// Rings a telephone.
async fn start(stub: &Stub, call: &Call) -> Result<(), Refused> {
    let order = &call.order;
    let number = Some(order.phone.clone()).filter(|phone| !phone.is_empty());
    let phone = Phone {
        number: &number.unwrap_or_else(|| telephone(&order.dial.to)),
        persona: order.persona.as_ref(),
        ring_seconds: order.ring_seconds,
    };
    let line = stub.phones.call(&stub.here, &call.sid, phone).await?;
    let _ = call.line.set(line);
    // Its line may have reported already.
    if call.stage() == Stage::Queued {
        call.becomes(Stage::Initiated);
    }
    Ok(())
}

/// The telephone at an address; that of a SIP address is its user.
fn telephone(to: &str) -> String {
    let user = to.strip_prefix("sip:").and_then(|address| address.split('@').next());
    user.unwrap_or(to).to_owned()
}

/// Tells of one call all that is to be told.
async fn tell(stub: Arc<Stub>, call: Arc<Call>, told: mpsc::Receiver<Numbered>) {
    let mut delivery = Delivery::new(stub.callbacks, told);
    while let Some((stage, number)) = delivery.next().await {
        let mut form: BTreeMap<String, String> = call.fields(stage).into_iter().collect();
        form.insert("SequenceNumber".to_owned(), number.to_string());
        form.insert("CallbackSource".to_owned(), "call-progress-events".to_owned());
        if let Stage::Over(_, Some(code)) = stage {
            form.insert("SipResponseCode".to_owned(), code.to_string());
        }
        let (answer, _) = stub.tell(&call.order.dial.status_url, &form).await;
        let status = stage.status().to_owned();
        locked(&stub.journal.delivered).push(Delivered { status, answer });
    }
}

/// Tells who answered. The exchange has mailboxes at numbers that end in 8.
async fn judge(stub: Arc<Stub>, call: Arc<Call>) {
    let mut stages = call.stages();
    let answered = stages.wait_for(|stage| matches!(stage, Stage::InProgress | Stage::Over(..)));
    drop(answered.await);
    sleep(VERDICT_AFTER).await;
    let (Some(url), Stage::InProgress) = (&call.order.verdict_url, call.stage()) else {
        return;
    };
    let machine = call.order.dial.to.ends_with('8');
    let answered_by = if machine { "machine_start" } else { "human" };
    let form = [
        ("CallSid", call.sid.as_str()),
        ("AccountSid", ACCOUNT),
        ("AnsweredBy", answered_by),
        ("MachineDetectionDuration", "3000"),
    ];
    let form = form.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (answer, _) = stub.tell(url, &form.into()).await;
    let status = answered_by.to_owned();
    locked(&stub.journal.delivered).push(Delivered { status, answer });
}
