//! What becomes of a leg that was answered: its instructions, one after the other, and changes of them by the API.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::extract::ws::WebSocket;
use serde_json::{Value, json};
use tokio::{
    sync::{broadcast, mpsc},
    time::sleep,
};

use super::{
    Stub,
    leg::{self, Change, Leg, Order, Stage},
    socket::{Socket, Told},
};
use crate::stub_carriers::{
    ear::Ear,
    line::{Heard, Line},
    rooms::Said,
    stall::Standstill,
};

/// How long a call is held of whose lost socket nothing was told.
const HELD: Duration = Duration::from_secs(30);

/// How an instruction ended.
enum Next {
    /// With the next one.
    Done,
    /// With others.
    Instead(Vec<Value>),
    /// The telephone was hung up.
    Gone,
}

struct Flow {
    stub: Arc<Stub>,
    leg: Arc<Leg>,
    line: Line,
    changes: mpsc::Receiver<Change>,
    /// Only the first socket of a leg breaks, or stands still.
    had_socket: bool,
    ear: Ear,
    /// A socket that nobody closed.
    kept: Option<Socket>,
}

/// Follows the instructions of a leg until it is over.
pub(super) async fn run(stub: Arc<Stub>, leg: Arc<Leg>, phone: WebSocket) {
    let Some(changes) = leg.changes() else { return };
    let mut todo = VecDeque::from(leg.order.ncco.clone());
    let ear = Ear::new(leg.order.detects_machines && leg.is_machine());
    let mut flow = Flow {
        stub,
        leg,
        line: Line::new(phone),
        changes,
        had_socket: false,
        ear,
        kept: None,
    };
    while let Some(action) = todo.pop_front() {
        match flow.perform(&action).await {
            Next::Done => {}
            Next::Instead(others) => todo = others.into(),
            Next::Gone => return flow.line.close().await,
        }
    }
    // All is done: Vonage ends the call.
    flow.stub.phones.hang_up(flow.leg.line()).await;
    flow.line.close().await;
}

impl Flow {
    async fn perform(&mut self, action: &Value) -> Next {
        let endpoint = &action["endpoint"][0];
        match (action["action"].as_str(), endpoint["type"].as_str()) {
            (Some("connect"), Some("websocket")) => self.socket(action, endpoint).await,
            (Some("connect"), Some("phone" | "sip")) => self.hand_on(action, endpoint).await,
            (Some("conversation"), _) => self.converse(action).await,
            _ => {
                self.stub.complain(format!("unknown instruction: {action}"));
                Next::Done
            }
        }
    }

    /// What a change makes of the leg.
    async fn changed(&mut self, change: Option<Change>) -> Option<Next> {
        match change? {
            Change::Instead(ncco) => Some(Next::Instead(ncco)),
            Change::Keys(keys) => {
                self.line.press(&keys).await;
                None
            }
        }
    }

    async fn socket(&mut self, action: &Value, endpoint: &Value) -> Next {
        let Ok(mut socket) = Socket::open(endpoint).await else {
            return self.lost(action, "failed").await;
        };
        let is_first = !std::mem::replace(&mut self.had_socket, true);
        let cut_after = self.stub.faults.cut_after.filter(|_| is_first);
        let mut standstill = Standstill::new(self.stub.faults.stall.filter(|_| is_first));
        let mut frames = 0;
        loop {
            let still = standstill.is_on(frames);
            if cut_after.is_some_and(|most| frames >= most) {
                drop(socket);
                return self.lost(action, "disconnected").await;
            }
            tokio::select! {
                heard = self.line.hear() => match heard {
                    Some(Heard::Audio(mulaw)) => {
                        frames += 1;
                        self.listen(&mulaw);
                        if !still {
                            socket.audio(&mulaw).await;
                        }
                    }
                    Some(Heard::Key(key)) => socket.key(&key).await,
                    Some(Heard::Mark(mark)) => socket.played(&mark).await,
                    None => {
                        socket.close().await;
                        return Next::Gone;
                    }
                },
                told = socket.told(), if !still => match told {
                    Told::Audio(mulaw) => self.line.say(&mulaw).await,
                    Told::Mark(mark) => self.line.mark(&mark).await,
                    Told::Clear => self.line.clear().await,
                    Told::Nonsense(why) => self.stub.complain(why),
                    Told::Gone => return self.lost(action, "disconnected").await,
                },
                change = self.changes.recv() => if let Some(next) = self.changed(change).await {
                    match self.stub.faults.kept_sockets {
                        true => self.kept = Some(socket),
                        false => socket.close().await,
                    }
                    return next;
                },
            }
        }
    }

    fn listen(&mut self, mulaw: &[u8]) {
        if self.ear.hears_beep(mulaw) {
            self.leg.beeped();
        }
    }

    /// A socket is lost, or was never there: that is told, and the answer may hold what to do.
    async fn lost(&mut self, action: &Value, status: &str) -> Next {
        self.line.clear().await;
        if self.stub.faults.silent_losses {
            return self.hold().await;
        }
        let mut event = self.leg.event(status);
        event["to"] = action["endpoint"][0]["uri"].clone();
        event["uuid"] = json!(uuid::Uuid::new_v4().to_string());
        event["headers"] = action["endpoint"][0]["headers"].clone();
        self.fallback(action, &event).await
    }

    /// Tells of what failed, where that was asked for. A change by the API that came in the meantime goes first.
    async fn fallback(&mut self, action: &Value, event: &Value) -> Next {
        let mut answer = None;
        if let (Some(url), "synchronous") = (
            action["eventUrl"][0].as_str(),
            action["eventType"].as_str().unwrap_or(""),
        ) {
            answer = self.stub.tell(url, event).await;
        }
        match (self.changes.try_recv(), answer) {
            (Ok(Change::Instead(ncco)), _) | (_, Some(ncco)) => Next::Instead(ncco),
            _ => Next::Done,
        }
    }

    async fn hold(&mut self) -> Next {
        let until = sleep(HELD);
        tokio::pin!(until);
        loop {
            tokio::select! {
                heard = self.line.hear() => if heard.is_none() {
                    return Next::Gone;
                },
                change = self.changes.recv() => if let Some(next) = self.changed(change).await {
                    return next;
                },
                () = &mut until => return Next::Done,
            }
        }
    }

    /// Rings somebody else, and joins the two.
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
        let next = self.until_over(&room, &other).await;
        self.stub.phones.hang_up(other.line()).await;
        match next {
            Some(next) => next,
            None => match other.stage() {
                Stage::Over(status, detail) if status != "completed" => {
                    let mut event = other.event(status);
                    event["detail"] = json!(detail);
                    self.fallback(action, &event).await
                }
                _ => Next::Done,
            },
        }
    }

    /// Talks with another leg until that is over (none), or until this one is, or is told otherwise.
    async fn until_over(&mut self, room: &str, other: &Leg) -> Option<Next> {
        let mut stages = other.stages();
        let over = async { drop(stages.wait_for(|stage| stage.is_over()).await) };
        tokio::pin!(over);
        tokio::select! {
            () = &mut over => None,
            next = self.talk(room) => match next {
                // The other one left the room; its line is over any moment.
                Next::Done => None,
                next => Some(next),
            },
        }
    }

    async fn converse(&mut self, action: &Value) -> Next {
        let name = action["name"].as_str().unwrap_or_default().to_owned();
        let next = self.talk(&name).await;
        if action["endOnExit"] == true {
            let _ = self.stub.rooms.named(&name).send(Said::Over);
        }
        next
    }

    /// Talks with whoever is in a room.
    async fn talk(&mut self, name: &str) -> Next {
        let room = self.stub.rooms.named(name);
        let mut heard = room.subscribe();
        loop {
            tokio::select! {
                said = self.line.hear() => match said {
                    Some(Heard::Audio(mulaw)) => drop(room.send(Said::Audio(self.leg.uuid.clone(), mulaw))),
                    Some(_) => {}
                    None => return Next::Gone,
                },
                said = heard.recv() => match said {
                    Ok(Said::Audio(by, mulaw)) if by != self.leg.uuid => self.line.say(&mulaw).await,
                    Ok(Said::Audio(..)) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Ok(Said::Over) | Err(broadcast::error::RecvError::Closed) => return Next::Done,
                },
                change = self.changes.recv() => if let Some(next) = self.changed(change).await {
                    return next;
                },
            }
        }
    }
}

/// The number that an endpoint stands for; that of a SIP address is its user.
pub(super) fn called(endpoint: &Value) -> String {
    let sip = || {
        let user = endpoint["uri"].as_str()?.strip_prefix("sip:")?.split('@').next()?;
        Some(user.trim_start_matches('+').to_owned())
    };
    let number = endpoint["number"].as_str().map(str::to_owned);
    number.or_else(sip).unwrap_or_default()
}
