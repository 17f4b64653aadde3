//! Flow of an answered leg: its instructions, one after the other, and changes to them by the API.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::extract::ws::WebSocket;
use serde_json::{Value, json};

use super::{
    leg::{self, Leg, Order},
    socket::Socket,
    stub::Vonage,
};
use crate::stub_carriers::{
    base::{phones::Cause, rooms::Said},
    flow::{self, Streamed, Talk},
    legs::Stage,
    machine_detection::MachineDetection,
};

/// Time for which a call is held after a lost socket that was not reported.
const HELD: Duration = Duration::from_secs(30);

type Next = flow::Next<Value>;

struct Flow {
    stub: Arc<Vonage>,
    leg: Arc<Leg>,
    talk: Talk<Value>,
    detection: MachineDetection,
    /// A socket that nobody closed.
    kept: Option<Socket>,
}

/// Follows the instructions of a leg until it is over.
pub(super) async fn run(stub: Arc<Vonage>, leg: Arc<Leg>, phone: WebSocket) {
    let Some(changes) = leg.changes() else { return };
    let mut todo = VecDeque::from(leg.order.ncco.clone());
    let detection = MachineDetection::new(leg.order.detects_machines && leg.is_machine());
    let talk = Talk::new(&leg.id, phone, changes);
    let mut flow = Flow {
        stub,
        leg,
        talk,
        detection,
        kept: None,
    };
    while let Some(action) = todo.pop_front() {
        match flow.perform(&action).await {
            Next::Done => {}
            Next::Instead(others) => todo = others.into(),
            Next::Gone => return flow.talk.line.close().await,
        }
    }
    // All instructions are done: Vonage ends the call.
    flow.stub.base.phones.hang_up(&flow.leg.line).await;
    flow.talk.line.close().await;
}

impl Flow {
    async fn perform(&mut self, action: &Value) -> Next {
        let endpoint = &action["endpoint"][0];
        match (action["action"].as_str(), endpoint["type"].as_str()) {
            (Some("connect"), Some("websocket")) => self.socket(action, endpoint).await,
            (Some("connect"), Some("phone" | "sip")) => self.hand_on(action, endpoint).await,
            (Some("conversation"), _) => self.converse(action).await,
            _ => {
                self.stub.base.complain(format!("unknown instruction: {action}"));
                Next::Done
            }
        }
    }

    async fn socket(&mut self, action: &Value, endpoint: &Value) -> Next {
        let Some(mut socket) = Socket::open(endpoint).await else {
            return self.lost(action, "failed").await;
        };
        let (detection, leg) = (&mut self.detection, &self.leg);
        let hears = |mulaw: &[u8]| {
            if detection.hears_beep(mulaw) {
                leg.beeped();
            }
        };
        match self.talk.stream(&self.stub.base, &mut socket, hears).await {
            Streamed::Cut | Streamed::Closed => {
                drop(socket);
                self.lost(action, "disconnected").await
            }
            Streamed::Next(next) => {
                match self.stub.faults.kept_sockets && !matches!(next, Next::Gone) {
                    true => self.kept = Some(socket),
                    false => socket.close().await,
                }
                next
            }
        }
    }

    /// Reports a socket that was lost or could not be opened; the response may contain further instructions.
    async fn lost(&mut self, action: &Value, status: &str) -> Next {
        self.talk.line.clear().await;
        if self.stub.faults.silent_losses {
            return self.talk.wait(HELD).await;
        }
        let mut event = self.leg.event(status);
        event["to"] = action["endpoint"][0]["uri"].clone();
        event["uuid"] = json!(uuid::Uuid::new_v4().to_string());
        event["headers"] = action["endpoint"][0]["headers"].clone();
        self.fallback(action, &event).await
    }

    /// Reports a failure if that was requested. A change by the API that came in the meantime takes precedence.
    async fn fallback(&mut self, action: &Value, event: &Value) -> Next {
        let mut answer = None;
        if let (Some(url), "synchronous") = (
            action["eventUrl"][0].as_str(),
            action["eventType"].as_str().unwrap_or(""),
        ) {
            answer = self.stub.tell(url, event).await;
        }
        self.talk.instead().or(answer).map_or(Next::Done, Next::Instead)
    }

    /// Rings the target and joins the two.
    async fn hand_on(&mut self, action: &Value, endpoint: &Value) -> Next {
        let to = called(endpoint);
        let room = format!("connect-{}", uuid::Uuid::new_v4());
        let order = Order {
            phone: format!("+{to}"),
            to,
            from: action["from"].as_str().unwrap_or(&self.leg.order.to).to_owned(),
            event_url: action["eventUrl"][0].as_str().unwrap_or_default().to_owned(),
            ring_seconds: action["timeout"].as_f64().unwrap_or(60.0),
            ncco: vec![json!({ "action": "conversation", "name": room, "endOnExit": true })],
            is_outbound: true,
            fails_in_silence: true,
            ..Order::default()
        };
        let Ok(other) = leg::ring(&self.stub, order).await else {
            let event = self.leg.event("failed");
            return self.fallback(action, &event).await;
        };
        let room = self.stub.base.rooms.named(&room);
        let next = self.talk.until_over(&room, other.stages()).await;
        self.stub.base.phones.hang_up(&other.line).await;
        match (next, other.stage()) {
            (Some(next), _) => next,
            (None, stage @ Stage::Over(cause)) if cause != Cause::Completed => {
                self.fallback(action, &other.event_of(stage)).await
            }
            (None, _) => Next::Done,
        }
    }

    async fn converse(&mut self, action: &Value) -> Next {
        let room = self.stub.base.rooms.named(action["name"].as_str().unwrap_or_default());
        let next = self.talk.converse(&room).await;
        if action["endOnExit"] == true {
            let _ = room.send(Said::Over);
        }
        next
    }
}

/// Returns the number of an endpoint; that of a SIP address is its user.
pub(super) fn called(endpoint: &Value) -> String {
    let sip = || {
        let user = endpoint["uri"].as_str()?.strip_prefix("sip:")?.split('@').next()?;
        Some(user.trim_start_matches('+').to_owned())
    };
    let number = endpoint["number"].as_str().map(str::to_owned);
    number.or_else(sip).unwrap_or_default()
}
