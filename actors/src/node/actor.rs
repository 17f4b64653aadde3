//! The root: supervises the five and restarts each that crashes, with growing waits. A new one takes over the
//! address of the old one.

use std::{collections::HashMap, time::Duration};

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::time::Instant;

use super::{NodeSettings, Restarts, Sibling, TaskGuard, boot, reaper};
use crate::{
    campaigns::{CampaignsActor, CampaignsArguments, CampaignsMessage},
    journal::{Backlog, Journal, JournalActor, JournalArguments, JournalMessage},
    lines::{CallRegistry, LinesActor, LinesArguments, LinesMessage},
    ports::Ports,
    single_calls::{SingleCallsActor, SingleCallsArguments, SingleCallsMessage},
    switchboard::{SwitchboardActor, SwitchboardArguments, SwitchboardMessage},
};

/// The children of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The door.
    Switchboard,
    /// The campaign supervisor.
    Campaigns,
    /// The dialer of single calls.
    SingleCalls,
    /// The line pool.
    Lines,
    /// The writer of facts.
    Journal,
}

/// Messages to the root.
pub enum NodeMessage {
    /// A child is gone (sent to itself from a supervision event).
    ChildGone(Part),
    /// Start a child again.
    Restart(Part),
    /// This process is registered with the store and has taken over what others left: campaigns may be taken up.
    Registered,
    /// The store declared this process dead.
    Fenced,
    /// No new work from now on; calls have a grace time.
    Drain {
        /// Milliseconds.
        grace_ms: u64,
    },
}

/// Addresses of the five.
#[derive(Clone, Default)]
pub struct Siblings {
    /// The door.
    pub switchboard: Sibling<SwitchboardMessage>,
    /// The campaign supervisor.
    pub campaigns: Sibling<CampaignsMessage>,
    /// The dialer of single calls.
    pub single_calls: Sibling<SingleCallsMessage>,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// The writer of facts.
    pub journal: Sibling<JournalMessage>,
}

/// What the root is started with.
pub struct RootArguments {
    pub(super) ports: Ports,
    pub(super) settings: NodeSettings,
    pub(super) siblings: Siblings,
    pub(super) journal: Journal,
    pub(super) backlog: Backlog,
}

/// The root.
pub struct NodeActor;

/// Its state.
pub struct NodeState {
    with: RootArguments,
    registry: CallRegistry,
    by_actor: HashMap<ActorId, Part>,
    restarts: HashMap<Part, Restarts>,
    registered: bool,
    /// The store declared this process dead.
    fenced: bool,
    /// The grace time, once draining began.
    draining: Option<u64>,
    tasks: Vec<TaskGuard>,
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
        let mut state = NodeState {
            with: arguments,
            registry: CallRegistry::default(),
            by_actor: HashMap::new(),
            restarts: HashMap::new(),
            registered: false,
            fenced: false,
            draining: None,
            tasks: Vec::new(),
        };
        for part in [
            Part::Journal,
            Part::Lines,
            Part::Campaigns,
            Part::SingleCalls,
            Part::Switchboard,
        ] {
            state.start(&me, part).await?;
        }
        let (ports, node) = (state.with.ports.clone(), state.with.settings.node);
        let address = state.with.settings.address.clone();
        // The first try is made here, so that with a healthy store the node is ready when its start returns.
        if boot::register(&ports, node, address.as_deref()).await {
            state.registered(&me);
        } else {
            state
                .tasks
                .push(TaskGuard::spawn(boot::register_later(me, ports, node, address)));
        }
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
            NodeMessage::Restart(part) => match state.start(&me, part).await {
                Ok(()) => state.catch_up(part),
                Err(error) => {
                    tracing::error!(?part, %error, "restart failed");
                    state.child_gone(&me, part);
                }
            },
            NodeMessage::Registered => state.registered(&me),
            NodeMessage::Fenced => {
                state.fenced = true;
                tracing::error!("this process was declared dead by another one: it dials no more, restart it");
                state.dial_no_more();
            }
            NodeMessage::Drain { grace_ms } => {
                state.draining = Some(grace_ms);
                state.dial_no_more();
                let _ = state.with.siblings.lines.cast(LinesMessage::Drain { grace_ms });
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
            tracing::error!(?part, why, "part of the node ended and is started again");
            me.cast(NodeMessage::ChildGone(part))?;
        }
        Ok(())
    }
}

impl NodeState {
    /// The switchboard passes it on to the campaigns; told both, neither misses it while the other restarts.
    fn dial_no_more(&self) {
        let _ = self.with.siblings.switchboard.cast(SwitchboardMessage::Drain);
        let _ = self.with.siblings.campaigns.cast(CampaignsMessage::Drain);
        let _ = self.with.siblings.single_calls.cast(SingleCallsMessage::Drain);
    }

    async fn start(&mut self, me: &ActorRef<NodeMessage>, part: Part) -> Result<(), SpawnErr> {
        let cell = me.get_cell();
        let (with, to) = (&self.with, &self.with.siblings);
        let id = match part {
            Part::Switchboard => {
                let arguments = SwitchboardArguments {
                    campaigns: to.campaigns.clone(),
                    single_calls: to.single_calls.clone(),
                    lines: to.lines.clone(),
                    draining: self.draining.is_some() || self.fenced,
                };
                let (actor, _) = Actor::spawn_linked(None, SwitchboardActor, arguments, cell).await?;
                to.switchboard.set(actor.clone());
                actor.get_id()
            }
            Part::Campaigns => {
                let arguments = CampaignsArguments {
                    node: with.settings.node,
                    ports: with.ports.clone(),
                    lines: to.lines.clone(),
                    ring_timeout: with.settings.ring_timeout,
                };
                let (actor, _) = Actor::spawn_linked(None, CampaignsActor, arguments, cell).await?;
                to.campaigns.set(actor.clone());
                actor.get_id()
            }
            Part::SingleCalls => {
                let arguments = SingleCallsArguments {
                    node: with.settings.node,
                    ports: with.ports.clone(),
                    lines: to.lines.clone(),
                    ring_timeout: with.settings.ring_timeout,
                };
                let (actor, _) = Actor::spawn_linked(None, SingleCallsActor, arguments, cell).await?;
                to.single_calls.set(actor.clone());
                actor.get_id()
            }
            Part::Lines => {
                let arguments = LinesArguments {
                    node: with.settings.node,
                    stream: with.settings.stream,
                    speculation: with.settings.speculation,
                    ports: with.ports.clone(),
                    lines: with.settings.lines,
                    calls_per_second: with.settings.calls_per_second,
                    journal: with.journal.clone(),
                    registry: self.registry.clone(),
                };
                let (actor, _) = Actor::spawn_linked(None, LinesActor, arguments, cell).await?;
                to.lines.set(actor.clone());
                actor.get_id()
            }
            Part::Journal => {
                let arguments = JournalArguments {
                    store: with.ports.store.clone(),
                    backlog: with.backlog.clone(),
                };
                let (actor, _) = Actor::spawn_linked(None, JournalActor, arguments, cell).await?;
                to.journal.set(actor.clone());
                actor.get_id()
            }
        };
        self.by_actor.insert(id, part);
        Ok(())
    }

    /// Tells a restarted part, and those who talk to it, what it missed.
    fn catch_up(&self, part: Part) {
        let to = &self.with.siblings;
        match (part, self.draining) {
            (Part::Switchboard | Part::Journal, _) => {}
            (Part::Campaigns, None) if self.registered && !self.fenced => {
                let _ = to.campaigns.cast(CampaignsMessage::Resume);
            }
            (Part::SingleCalls, None) if self.registered && !self.fenced => {
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
                if let Some(grace_ms) = draining {
                    let _ = to.lines.cast(LinesMessage::Drain { grace_ms });
                }
                let _ = to.campaigns.cast(CampaignsMessage::LinesRestarted);
                let _ = to.single_calls.cast(SingleCallsMessage::LinesRestarted);
            }
        }
    }

    fn child_gone(&mut self, me: &ActorRef<NodeMessage>, part: Part) {
        let crashes = self.restarts.entry(part).or_default().crashed(Instant::now());
        let (me, wait): (_, Duration) = (me.clone(), Restarts::delay(crashes));
        self.tasks.push(TaskGuard::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = me.cast(NodeMessage::Restart(part));
        }));
    }

    fn registered(&mut self, me: &ActorRef<NodeMessage>) {
        self.registered = true;
        let (ports, node) = (self.with.ports.clone(), self.with.settings.node);
        self.tasks
            .push(TaskGuard::spawn(boot::heartbeat(me.clone(), ports.clone(), node)));
        let reaping = reaper::reap(ports.clone(), node, self.registry.clone());
        self.tasks.push(TaskGuard::spawn(reaping));
        self.tasks.push(TaskGuard::spawn(boot::sweep_lists(ports.clone())));
        self.tasks.push(TaskGuard::spawn(boot::take_over(ports, node)));
        if self.draining.is_none() {
            let _ = self.with.siblings.campaigns.cast(CampaignsMessage::Resume);
            let _ = self.with.siblings.single_calls.cast(SingleCallsMessage::Resume);
        }
    }
}
