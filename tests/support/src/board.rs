//! A node of which only the doors for carriers are there: it takes every report and every media socket, and keeps them.

use std::sync::{Arc, Mutex};

use actors::switchboard::SwitchboardMessage;
use carriers::CarrierDoor;
use domain::ports::{
    carrier::{CallProgress, Carrier, InboundRefusal, LegReport},
    media_leg::{InboundItem, MediaLeg, OutboundItem},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use rest::server::{ServerLimits, serve};
use tokio::{net::TcpListener, task::JoinSet};

use super::world::TrunkOf;

/// What came.
#[derive(Default)]
struct Kept {
    reports: Vec<LegReport>,
    legs: Vec<MediaLeg>,
}

/// The doors of one carrier; they close when it is dropped.
pub struct Board {
    pub carrier: Arc<dyn Carrier>,
    kept: Arc<Mutex<Kept>>,
    _tasks: JoinSet<()>,
}

impl Board {
    /// Opens them.
    pub async fn open(trunk: TrunkOf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let trunk = trunk(&format!("http://{}", listener.local_addr().unwrap()));
        let kept = Arc::<Mutex<Kept>>::default();
        let (switchboard, _) = Actor::spawn(None, Keeper, kept.clone()).await.unwrap();
        let door = CarrierDoor::new(switchboard);
        let router = carriers::router(&door, [(trunk.carrier.name(), trunk.doors)]);
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, router, ServerLimits::default(), std::future::pending()));
        if let Some(attendant) = trunk.attendant {
            tasks.spawn(attendant(door));
        }
        Self {
            carrier: trunk.carrier,
            kept,
            _tasks: tasks,
        }
    }

    /// What was reported.
    pub fn reports(&self) -> Vec<CallProgress> {
        let kept = self.kept.lock().unwrap();
        kept.reports.iter().map(|report| report.progress.clone()).collect()
    }

    /// Media sockets that came so far.
    pub fn legs(&self) -> usize {
        self.kept.lock().unwrap().legs.len()
    }

    /// What came on the latest one since it was last asked, audio left out.
    pub fn items(&self) -> Vec<InboundItem> {
        let mut items = Vec::new();
        if let Some(leg) = self.kept.lock().unwrap().legs.last() {
            leg.inbound.drain(&mut items);
        }
        items.retain(|item| !matches!(item, InboundItem::Audio(_)));
        items
    }

    /// Sends something on the latest one.
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

struct Keeper;

impl Actor for Keeper {
    type Msg = SwitchboardMessage;
    type State = Arc<Mutex<Kept>>;
    type Arguments = Arc<Mutex<Kept>>;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        kept: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(kept)
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        kept: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SwitchboardMessage::Progress { report, reply, .. } => {
                kept.lock().unwrap().reports.push(report);
                reply.send(Ok(()))?;
            }
            SwitchboardMessage::AskMedia { reply, .. } => reply.send(Ok(()))?,
            SwitchboardMessage::Media { leg, reply, .. } => {
                kept.lock().unwrap().legs.push(leg);
                reply.send(Ok(()))?;
            }
            SwitchboardMessage::Inbound { reply, .. } | SwitchboardMessage::DialIn { reply, .. } => {
                reply.send(Err(InboundRefusal::NobodyAnswers))?;
            }
            _ => {}
        }
        Ok(())
    }
}
