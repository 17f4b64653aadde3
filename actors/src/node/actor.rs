//! Root actor. It supervises four children and restarts each one that crashes, with growing delays. A new
//! child takes over the address of the old one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    Incarnation, NodeSettings,
    boot::{self, Registration},
    life, recovery,
};
use crate::{
    call::{CallContext, PhraseBook},
    campaigns::{CampaignsActor, CampaignsArguments, CampaignsMessage},
    dial_gate::DialGate,
    journal::{Backlog, Journal, JournalActor, JournalArguments, JournalMessage},
    lines::{CallRegistry, Leave, LinesActor, LinesArguments, LinesMessage},
    single_calls::{SingleCallsActor, SingleCallsArguments, SingleCallsMessage},
    supervision::{Restarts, Sibling, TaskGuard},
    switchboard::Switchboard,
};
use domain::{
    id::NodeId,
    ports::{Ports, store::Pulse},
};

/// How long a part may take to stop before it is killed and started again.
const STOPS_WITHIN: Duration = Duration::from_secs(5);

/// Children of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Campaign supervisor.
    Campaigns,
    /// Dialer of single calls.
    SingleCalls,
    /// Line pool.
    Lines,
    /// Writer of facts.
    Journal,
}

/// Messages to the root.
pub enum NodeMessage {
    /// A child is gone (sent to itself from a supervision event).
    ChildGone(Part),
    /// Start a child again.
    Restart(Part),
    /// This process is registered with the store, so campaigns may be resumed.
    Registered(NodeId, Pulse),
    /// The store refuses this process as a node. Holds the reason.
    Refused(NodeId, String),
    /// A heartbeat succeeded.
    Alive {
        /// Node that sent it.
        node: NodeId,
        /// The store's facts about the nodes.
        pulse: Pulse,
        /// Whether the process had been suspended before.
        doubted: bool,
    },
    /// The store declared this process dead.
    Fenced(NodeId),
    /// Stop dialing now and taking calls soon. Live calls have a grace time.
    Drain(Leave),
}

/// Arguments of the root.
pub struct RootArguments {
    pub(super) ports: Ports,
    pub(super) settings: NodeSettings,
    pub(super) switchboard: Switchboard,
    pub(super) journal: Journal,
    pub(super) journal_address: Sibling<JournalMessage>,
    pub(super) backlog: Backlog,
    pub(super) gate: DialGate,
    pub(super) incarnation: Incarnation,
    pub(super) registry: CallRegistry,
    pub(super) refused: watch::Sender<Option<String>>,
}

/// Root actor.
pub struct NodeActor;

/// State of the root.
pub struct NodeState {
    with: RootArguments,
    by_actor: HashMap<ActorId, Part>,
    parts: HashMap<Part, ActorCell>,
    restarts: HashMap<Part, Restarts>,
    registered: bool,
    /// Last known number of live nodes.
    nodes: usize,
    /// How the node leaves, once draining began.
    draining: Option<Leave>,
    /// Pending restarts.
    waiting: Vec<TaskGuard>,
    /// Tasks that run under the present node id.
    tasks: Vec<TaskGuard>,
    _watch: TaskGuard,
    doubts: Arc<Notify>,
}

impl Actor for NodeActor {
    type Msg = NodeMessage;
    type State = NodeState;
    type Arguments = RootArguments;

    async fn pre_start(
        &self,
        me: ActorRef<NodeMessage>,
        arguments: RootArguments,
    ) -> Result<NodeState, ActorProcessingErr> {
        let (settings, gate) = (&arguments.settings, &arguments.gate);
        let address = settings.address.as_deref();
        // Registers before the parts start, so that a refused process has started nothing. If the store is
        // healthy, the node is ready when its start returns.
        let registration = boot::register(&arguments.ports, settings.node, address, gate).await;
        if let Registration::Refused(why) = registration {
            return Err(why.into());
        }
        let doubts = Arc::new(Notify::new());
        let (gate, clock) = (arguments.gate.clone(), Arc::clone(&arguments.ports.clock));
        let mut state = NodeState {
            _watch: TaskGuard::spawn(life::watch(gate, clock, arguments.settings.times, Arc::clone(&doubts))),
            with: arguments,
            by_actor: HashMap::new(),
            parts: HashMap::new(),
            restarts: HashMap::new(),
            registered: false,
            nodes: 1,
            draining: None,
            waiting: Vec::new(),
            tasks: Vec::new(),
            doubts,
        };
        for part in [Part::Journal, Part::Lines, Part::Campaigns, Part::SingleCalls] {
            state.start(&me, part).await?;
        }
        state.registers(&me, registration);
        Ok(state)
    }

    async fn handle(
        &self,
        me: ActorRef<NodeMessage>,
        message: NodeMessage,
        state: &mut NodeState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            NodeMessage::ChildGone(part) => state.child_gone(&me, part),
            // The part was already started again, under another id.
            NodeMessage::Restart(part) if state.parts.contains_key(&part) => {}
            NodeMessage::Restart(part) => match state.start(&me, part).await {
                Ok(()) => state.catch_up(part),
                Err(error) => {
                    tracing::error!(?part, %error, "restart failed");
                    state.child_gone(&me, part);
                }
            },
            NodeMessage::Registered(node, pulse) if node == state.node() => state.registered(&me, pulse),
            NodeMessage::Refused(node, why) if node == state.node() => state.registers(&me, Registration::Refused(why)),
            NodeMessage::Alive { node, pulse, doubted } if node == state.node() => {
                state.heard(pulse);
                if doubted {
                    let doubt = LinesMessage::DoubtClaims { attempt: None };
                    let _ = state.with.switchboard.lines.cast(doubt);
                }
            }
            NodeMessage::Fenced(node) if node == state.node() => state.start_anew(&me).await,
            // Messages for a node id that this process had before.
            NodeMessage::Registered(..)
            | NodeMessage::Refused(..)
            | NodeMessage::Alive { .. }
            | NodeMessage::Fenced(_) => {}
            NodeMessage::Drain(leave) => {
                state.draining = Some(leave);
                state.dial_no_more();
                let _ = state.with.switchboard.lines.cast(LinesMessage::Drain(leave));
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<NodeMessage>,
        event: SupervisionEvent,
        state: &mut NodeState,
    ) -> Result<(), ActorProcessingErr> {
        let (actor, why) = match event {
            SupervisionEvent::ActorTerminated(actor, _, reason) => (actor, reason.unwrap_or_default()),
            SupervisionEvent::ActorFailed(actor, error) => (actor, error.to_string()),
            _ => return Ok(()),
        };
        if let Some(part) = state.by_actor.remove(&actor.get_id()) {
            state.parts.remove(&part);
            tracing::error!(?part, why, "part of the node ended, restarting it");
            me.cast(NodeMessage::ChildGone(part))?;
        }
        Ok(())
    }
}

impl NodeState {
    fn dial_no_more(&self) {
        let _ = self.with.switchboard.campaigns.cast(CampaignsMessage::Drain);
        let _ = self.with.switchboard.single_calls.cast(SingleCallsMessage::Drain);
    }

    async fn start(&mut self, me: &ActorRef<NodeMessage>, part: Part) -> Result<(), SpawnErr> {
        let cell = me.get_cell();
        let (with, to) = (&self.with, &self.with.switchboard);
        let actor = match part {
            Part::Campaigns => {
                let arguments = CampaignsArguments {
                    node: with.settings.node,
                    ports: with.ports.clone(),
                    lines: to.lines.clone(),
                    ring_timeout: with.settings.ring_timeout,
                    look_every: with.settings.times.tick(),
                    other_nodes: self.nodes > 1,
                };
                let (actor, _) = Actor::spawn_linked(None, CampaignsActor, arguments, cell).await?;
                to.campaigns.set(actor.clone());
                actor.get_cell()
            }
            Part::SingleCalls => {
                let arguments = SingleCallsArguments {
                    node: with.settings.node,
                    ports: with.ports.clone(),
                    lines: to.lines.clone(),
                    ring_timeout: with.settings.ring_timeout,
                    other_nodes: self.nodes > 1,
                };
                let (actor, _) = Actor::spawn_linked(None, SingleCallsActor, arguments, cell).await?;
                to.single_calls.set(actor.clone());
                actor.get_cell()
            }
            Part::Lines => {
                let arguments = LinesArguments {
                    with: CallContext {
                        node: with.settings.node,
                        ports: with.ports.clone(),
                        journal: with.journal.clone(),
                        stream: with.settings.stream,
                        speculation: with.settings.speculation,
                        times: with.settings.times,
                        phrases: PhraseBook::default(),
                        gate: with.gate.clone(),
                    },
                    lines: with.settings.lines,
                    calls_per_second: with.settings.calls_per_second,
                    registry: with.registry.clone(),
                    nodes: self.nodes,
                };
                let (actor, _) = Actor::spawn_linked(None, LinesActor, arguments, cell).await?;
                to.lines.set(actor.clone());
                actor.get_cell()
            }
            Part::Journal => {
                let arguments = JournalArguments {
                    store: with.ports.store.clone(),
                    backlog: with.backlog.clone(),
                };
                let (actor, _) = Actor::spawn_linked(None, JournalActor, arguments, cell).await?;
                with.journal_address.set(actor.clone());
                actor.get_cell()
            }
        };
        self.by_actor.insert(actor.get_id(), part);
        self.parts.insert(part, actor);
        Ok(())
    }

    /// Tells a restarted part, and the parts that talk to it, what it missed.
    fn catch_up(&self, part: Part) {
        let to = &self.with.switchboard;
        match (part, self.draining) {
            (Part::Journal, _) => {}
            (Part::Campaigns, None) if self.registered => {
                let _ = to.campaigns.cast(CampaignsMessage::Resume);
            }
            (Part::SingleCalls, None) if self.registered => {
                let _ = to.single_calls.cast(SingleCallsMessage::Resume);
            }
            (Part::Campaigns | Part::SingleCalls, None) => {}
            (Part::Campaigns, Some(_)) => {
                let _ = to.campaigns.cast(CampaignsMessage::Drain);
            }
            (Part::SingleCalls, Some(_)) => {
                let _ = to.single_calls.cast(SingleCallsMessage::Drain);
            }
            (Part::Lines, draining) => {
                if let Some(leave) = draining {
                    let _ = to.lines.cast(LinesMessage::Drain(leave));
                }
                let _ = to.campaigns.cast(CampaignsMessage::LinesRestarted);
                let _ = to.single_calls.cast(SingleCallsMessage::LinesRestarted);
            }
        }
    }

    fn child_gone(&mut self, me: &ActorRef<NodeMessage>, part: Part) {
        let crashes = self.restarts.entry(part).or_default().crashed(Instant::now());
        let (me, wait): (_, Duration) = (me.clone(), Restarts::delay(crashes));
        self.waiting.push(TaskGuard::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = me.cast(NodeMessage::Restart(part));
        }));
    }

    fn node(&self) -> NodeId {
        self.with.settings.node
    }

    async fn register(&mut self, me: &ActorRef<NodeMessage>) {
        let address = self.with.settings.address.as_deref();
        let registration = boot::register(&self.with.ports, self.node(), address, &self.with.gate).await;
        self.registers(me, registration);
    }

    /// Handles the result of a registration attempt.
    fn registers(&mut self, me: &ActorRef<NodeMessage>, registration: Registration) {
        match registration {
            Registration::Registered(pulse) => self.registered(me, pulse),
            Registration::Later => {
                let (ports, gate, node) = (self.with.ports.clone(), self.with.gate.clone(), self.node());
                let address = self.with.settings.address.clone();
                let later = boot::register_later(me.clone(), ports, (node, address), gate);
                self.tasks.push(TaskGuard::spawn(later));
            }
            // The gate stays closed: nothing was begun under this id.
            Registration::Refused(why) => drop(self.with.refused.send_replace(Some(why))),
        }
    }

    fn registered(&mut self, me: &ActorRef<NodeMessage>, pulse: Pulse) {
        self.registered = true;
        let (ports, node, times) = (self.with.ports.clone(), self.node(), self.with.settings.times);
        let (gate, doubts) = (self.with.gate.clone(), Arc::clone(&self.doubts));
        let showing = life::show(me.clone(), ports.clone(), (node, times), gate, doubts);
        self.tasks.push(TaskGuard::spawn(showing));
        let reaping = recovery::recover(ports.clone(), (node, times), self.with.registry.clone());
        self.tasks.push(TaskGuard::spawn(reaping));
        self.tasks.push(TaskGuard::spawn(boot::sweep_lists(ports.clone())));
        let (calls, draining) = (self.with.registry.clone(), self.with.switchboard.draining.subscribe());
        let taking_over = boot::take_over(ports, (node, times), calls, draining);
        self.tasks.push(TaskGuard::spawn(taking_over));
        self.heard(pulse);
        if self.draining.is_none() {
            let _ = self.with.switchboard.campaigns.cast(CampaignsMessage::Resume);
            let _ = self.with.switchboard.single_calls.cast(SingleCallsMessage::Resume);
        }
    }

    /// Tells the parts how many nodes are alive. Lines may be granted again, and the live nodes share the
    /// rate and the campaigns.
    fn heard(&mut self, pulse: Pulse) {
        self.nodes = pulse.nodes;
        let to = &self.with.switchboard;
        let _ = to.lines.cast(LinesMessage::Nodes(pulse.nodes));
        let _ = to.campaigns.cast(CampaignsMessage::OtherNodes(pulse.nodes > 1));
        let _ = to.single_calls.cast(SingleCallsMessage::OtherNodes(pulse.nodes > 1));
    }

    /// Starts again under another node id after the store declared this process dead. Other nodes take over
    /// its work, so its calls are forgotten without a message to the carrier or the store.
    async fn start_anew(&mut self, me: &ActorRef<NodeMessage>) {
        let node = NodeId::new();
        tracing::error!(was = %self.node(), now = %node, "process declared dead by another node, starting again without its calls");
        self.tasks.clear();
        self.registered = false;
        let dialers = [Part::Lines, Part::Campaigns, Part::SingleCalls];
        for part in dialers {
            if let Some(actor) = self.parts.remove(&part) {
                self.by_actor.remove(&actor.get_id());
                // A part that is too slow to stop is killed, because nothing of it may go on.
                if actor.stop_and_wait(None, Some(STOPS_WITHIN)).await.is_err() {
                    actor.kill();
                }
            }
        }
        self.with.registry.clear();
        self.with.settings.node = node;
        self.with.incarnation.set(node);
        for part in dialers {
            match self.start(me, part).await {
                Ok(()) => self.catch_up(part),
                Err(error) => {
                    tracing::error!(?part, %error, "restart failed");
                    self.child_gone(me, part);
                }
            }
        }
        self.register(me).await;
    }
}
