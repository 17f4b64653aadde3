//! Flow of a telephone that was picked up: it streams, talks with another one, or both.

use std::sync::{Arc, atomic::Ordering};

use axum::extract::ws::WebSocket;
use serde_json::json;
use tokio::sync::{broadcast, mpsc};

use super::{
    call::{Call, Change, StreamAsk},
    media::Stream,
    stub::Telnyx,
};
use crate::stub_carriers::{
    base::rooms::Said,
    bridge::{MediaSocket, Told},
    line::{FromPhone, Line},
    machine_detection::MachineDetection,
    settings::locked,
};

/// A room that a telephone talks in.
struct Room {
    to: broadcast::Sender<Said>,
    from: broadcast::Receiver<Said>,
}

struct Flow {
    stub: Arc<Telnyx>,
    call: Arc<Call>,
    line: Line,
    stream: Option<Stream>,
    room: Option<Room>,
    /// Number of streams so far; only the first stream of a call has faults.
    streams: u32,
    /// Detector of a mailbox's beep, if that was requested.
    detection: MachineDetection,
}

/// Runs the flow. The end of a stream does not end the call: that takes a hang-up.
pub(super) async fn run(stub: Arc<Telnyx>, call: Arc<Call>, phone: WebSocket) {
    let Some(mut changes) = call.changes() else { return };
    let first = locked(&call.order.first_stream).take();
    let listens = call.is_machine() && !call.order.machine_detection.is_empty();
    let mut flow = Flow {
        stub,
        call,
        line: Line::new(phone),
        stream: None,
        room: None,
        streams: 0,
        detection: MachineDetection::new(listens),
    };
    let early = locked(&flow.call.order.early_stream).take();
    if let Some(mut stream) = early {
        stream.begin(&flow.call).await;
        flow.opened(stream);
    } else if let Some(ask) = first {
        flow.call.order.streams.store(true, Ordering::SeqCst);
        flow.open(&ask).await;
    }
    while flow.goes_on(&mut changes).await.is_some() {}
    if let Some(stream) = flow.stream.take() {
        stream.close().await;
    }
    flow.line.close().await;
}

async fn told(stream: &mut Option<Stream>) -> Told {
    if let Some(stream) = stream
        && !stream.is_still()
    {
        return stream.told().await;
    }
    std::future::pending().await
}

async fn said(room: &mut Option<Room>) -> Said {
    let Some(room) = room else {
        return std::future::pending().await;
    };
    loop {
        match room.from.recv().await {
            Ok(said) => return said,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return Said::Over,
        }
    }
}

impl Flow {
    /// Handles one event; returns `None` when the telephone was hung up.
    async fn goes_on(&mut self, changes: &mut mpsc::Receiver<Change>) -> Option<()> {
        tokio::select! {
            heard = self.line.hear() => self.heard(heard?).await,
            told = told(&mut self.stream) => self.told(told).await,
            said = said(&mut self.room) => match said {
                Said::Audio(by, mulaw) if by != self.call.id => self.line.say(&mulaw).await,
                Said::Audio(..) => {}
                Said::Over => self.room = None,
            },
            change = changes.recv() => self.changed(change?).await,
        }
        Some(())
    }

    async fn heard(&mut self, heard: FromPhone) {
        match heard {
            FromPhone::Audio(mulaw) => {
                self.listen(&mulaw);
                if let Some(stream) = &mut self.stream {
                    stream.audio(&mulaw).await;
                    if stream.is_cut() {
                        self.cut().await;
                    }
                }
                if let Some(room) = &self.room {
                    let _ = room.to.send(Said::Audio(self.call.id.clone(), mulaw));
                }
            }
            FromPhone::Key(key) => {
                self.stub
                    .tell(&self.call, "call.dtmf.received", json!({ "digit": key }));
                if let Some(stream) = &mut self.stream {
                    stream.key(&key).await;
                }
            }
            FromPhone::Mark(mark) => {
                if let Some(stream) = &mut self.stream {
                    stream.played(&mark).await;
                }
            }
        }
    }

    fn listen(&mut self, mulaw: &[u8]) {
        if self.detection.hears_beep(mulaw) {
            let event = match &*self.call.order.machine_detection {
                premium if premium.starts_with("premium") => "call.machine.premium.greeting.ended",
                _ => "call.machine.greeting.ended",
            };
            self.stub.tell(&self.call, event, json!({ "result": "beep_detected" }));
        }
    }

    async fn told(&mut self, told: Told) {
        match told {
            Told::Audio(mulaw) => self.line.say(&mulaw).await,
            Told::Mark(mark) => self.line.mark(&mark).await,
            Told::Clear => self.line.clear().await,
            // Telnyx streams accept no keys.
            Told::Key(_) => {}
            Told::Nonsense(why) => self.stub.base.complain(why),
            Told::Gone => {
                self.end_stream();
                self.stub.tell(&self.call, "streaming.stopped", json!({}));
            }
        }
    }

    async fn changed(&mut self, change: Change) {
        match change {
            Change::Stream(ask) => self.open(&ask).await,
            Change::StopStream => {
                if let Some(stream) = self.stream.take() {
                    stream.close().await;
                }
            }
            Change::Keys(keys) => self.line.press(&keys).await,
            Change::Room(name) => {
                let to = self.stub.base.rooms.named(&name);
                let from = to.subscribe();
                self.room = Some(Room { to, from });
            }
        }
    }

    async fn open(&mut self, ask: &StreamAsk) {
        let first = self.streams == 0;
        self.streams += 1;
        match Stream::open(&self.stub, &self.call, ask, first).await {
            Ok(stream) => self.opened(stream),
            Err(reason) => self.lost(&reason.to_string()).await,
        }
    }

    fn opened(&mut self, stream: Stream) {
        self.call.order.streams.store(true, Ordering::SeqCst);
        self.stream = Some(stream);
        self.stub.tell(&self.call, "streaming.started", json!({}));
    }

    /// Breaks the socket.
    async fn cut(&mut self) {
        if self.stub.settings.faults.unnoticed_losses {
            self.stream = None;
            return self.line.clear().await;
        }
        self.lost("connection_lost").await;
    }

    fn end_stream(&mut self) {
        self.stream = None;
        self.call.order.streams.store(false, Ordering::SeqCst);
    }

    async fn lost(&mut self, reason: &str) {
        if self.stream.is_some() {
            self.line.clear().await;
        }
        self.end_stream();
        self.stub
            .tell(&self.call, "streaming.failed", json!({ "failure_reason": reason }));
    }
}
