//! A node that consists only of its carrier endpoints: it accepts every report and every media socket, and keeps them.

use std::sync::{Arc, Mutex};

use actors::{call::CallMessage, lines::LinesMessage, switchboard::Switchboard};
use carriers::CarrierLink;
use domain::ports::{
    carrier::{CallProgress, Carrier, InboundRefusal, LegReport},
    media_leg::{InboundItem, MediaLeg, OutboundItem},
};
use rest::server::{ServerLimits, serve};
use tokio::{net::TcpListener, task::JoinSet};

use super::{fake_actor::answering_at_once, world::TrunkOf};

/// Received reports and sockets.
#[derive(Default)]
struct Kept {
    reports: Vec<LegReport>,
    legs: Vec<MediaLeg>,
}

/// Endpoints of one carrier; dropping it closes them.
pub struct Board {
    pub carrier: Arc<dyn Carrier>,
    kept: Arc<Mutex<Kept>>,
    _tasks: JoinSet<()>,
}

impl Board {
    /// Opens the endpoints.
    pub async fn open(trunk: TrunkOf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let trunk = trunk(&format!("http://{}", listener.local_addr().unwrap()));
        let kept = Arc::<Mutex<Kept>>::default();
        let keeps = kept.clone();
        let lines = answering_at_once(move |message| keep(&keeps, message)).await;
        let link = CarrierLink::new(Switchboard {
            lines: lines.into(),
            ..Switchboard::default()
        });
        let router = carriers::router(&link, [(trunk.carrier.name(), trunk.routes)]);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, router, ServerLimits::default(), std::future::pending()));
        if let Some(event_listener) = trunk.event_listener {
            tasks.spawn(event_listener(link));
        }
        Self {
            carrier: trunk.carrier,
            kept,
            _tasks: tasks,
        }
    }

    /// Returns the reports.
    pub fn reports(&self) -> Vec<CallProgress> {
        let kept = self.kept.lock().unwrap();
        kept.reports.iter().map(|report| report.progress.clone()).collect()
    }

    /// Returns the number of media sockets so far.
    pub fn legs(&self) -> usize {
        self.kept.lock().unwrap().legs.len()
    }

    /// Returns the items of the latest socket since the last call, without audio.
    pub fn items(&self) -> Vec<InboundItem> {
        let mut items = Vec::new();
        if let Some(leg) = self.kept.lock().unwrap().legs.last() {
            leg.inbound.drain(&mut items);
        }
        items.retain(|item| !matches!(item, InboundItem::Audio(_)));
        items
    }

    /// Sends an item on the latest socket.
    pub fn send(&self, item: OutboundItem) {
        self.kept
            .lock()
            .unwrap()
            .legs
            .last()
            .unwrap()
            .outbound
            .try_send(item)
            .unwrap();
    }
}

fn keep(kept: &Mutex<Kept>, message: LinesMessage) {
    match message {
        LinesMessage::ToCall { message, .. } => match message {
            CallMessage::Progress { report, reply, .. } => {
                kept.lock().unwrap().reports.push(report);
                let _ = reply.send(Ok(()));
            }
            CallMessage::AskMedia { reply, .. } => drop(reply.send(Ok(()))),
            CallMessage::Media { leg, reply, .. } => {
                kept.lock().unwrap().legs.push(leg);
                let _ = reply.send(Ok(()));
            }
            _ => {}
        },
        LinesMessage::Inbound { reply, .. } => drop(reply.send(Err(InboundRefusal::NobodyAnswers))),
        _ => {}
    }
}
