//! Starts a node and gives access to it from outside the tree.

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorRef, SpawnErr};
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::{
    Incarnation, NodeMessage,
    actor::{NodeActor, RootArguments},
};
use crate::{
    audio_stream::StreamSettings,
    call::Speculation,
    dial_gate::{DialGate, HoldsBack},
    journal::{Backlog, BacklogFigures, Journal, JournalMessage, LiveFact},
    lines::{CallRegistry, Leave, LinesMessage, LinesSnapshot},
    supervision::Sibling,
    switchboard::{INSPECTION, Switchboard},
};
use domain::{
    id::NodeId,
    node_times::Times,
    ports::{Ports, store::Store},
};

/// Number of facts by which a slow reader of the live feed may lag behind before it misses some.
const LIVE_FACTS: usize = 4096;

/// Time that calls hung up at the end of a drain have to write their outcomes.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// Time the journal has to write its remaining facts.
const LAST_FACTS: Duration = Duration::from_secs(5);

/// Interval at which a drain logs how many calls are left.
const TELL_OF_CALLS_EVERY: Duration = Duration::from_secs(30);

/// Time limit for informing the store when the process was told twice to end.
const LAST_WORD_WITHIN: Duration = Duration::from_secs(1);

/// Time limit for informing the store that this node is gone.
const SIGNS_OFF_WITHIN: Duration = Duration::from_secs(2);

/// Settings of a node.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// Id of this start of the process.
    pub node: NodeId,
    /// Base URL at which other nodes of the same database reach this one. `None` if they do not.
    pub address: Option<String>,
    /// Times for heartbeats and dials on which the nodes of a database agree.
    pub times: Times,
    /// Most calls at once.
    pub lines: usize,
    /// Dials per second, 0 for no limit.
    pub calls_per_second: f64,
    /// Longest ringing time of a call.
    pub ring_timeout: Duration,
    /// Service settings for audio streams.
    pub stream: StreamSettings,
    /// How far replies are made ahead of the end of the user's turn.
    pub speculation: Speculation,
}

impl Default for NodeSettings {
    /// Returns the settings of a new process with 100 lines, no rate limit and 30 s of ringing.
    fn default() -> Self {
        Self {
            node: NodeId::new(),
            address: None,
            times: Times::default(),
            lines: 100,
            calls_per_second: 0.0,
            ring_timeout: Duration::from_secs(30),
            stream: StreamSettings::default(),
            speculation: Speculation::default(),
        }
    }
}

/// Arguments with which a node starts.
pub struct NodeArguments {
    /// The ports to the outside.
    pub ports: Ports,
    /// The node's settings.
    pub settings: NodeSettings,
}

/// Error: a node did not start.
#[derive(Debug, thiserror::Error)]
#[error("node did not start: {0}")]
pub struct NodeStartError(String);

/// Starts nodes.
pub struct Node;

/// A running node.
pub struct NodeHandle {
    /// Access to the actors from outside.
    pub switchboard: Switchboard,
    /// Address of the journal.
    pub journal_address: Sibling<JournalMessage>,
    /// Live feed of facts.
    pub live: broadcast::Sender<LiveFact>,
    root: ActorRef<NodeMessage>,
    journal: Journal,
    incarnation: Incarnation,
    backlog: Backlog,
    gate: DialGate,
    store: Arc<dyn Store>,
    registry: CallRegistry,
    refused: watch::Sender<Option<String>>,
    ended: JoinHandle<()>,
}

impl Node {
    /// Starts the tree. It also starts while the carrier or the store is unavailable. Without the store,
    /// commands are refused as unavailable until it is back.
    ///
    /// # Errors
    /// Returns an error if the store refuses this process as a node, or if an actor did not start, which is a
    /// bug.
    pub async fn start(arguments: NodeArguments) -> Result<NodeHandle, NodeStartError> {
        let (switchboard, journal_address) = (Switchboard::default(), Sibling::default());
        let live = broadcast::Sender::new(LIVE_FACTS);
        let backlog = Backlog::default();
        let journal = Journal::new(journal_address.clone(), backlog.clone(), live.clone());
        let incarnation = Incarnation::new(arguments.settings.node);
        let gate = DialGate::new(arguments.settings.times, arguments.ports.clock.now());
        let registry = CallRegistry::default();
        let store = Arc::clone(&arguments.ports.store);
        let refused = watch::Sender::new(None);
        let arguments = RootArguments {
            gate: gate.clone(),
            registry: registry.clone(),
            incarnation: incarnation.clone(),
            ports: arguments.ports,
            settings: arguments.settings,
            switchboard: switchboard.clone(),
            journal_address: journal_address.clone(),
            journal: journal.clone(),
            backlog: backlog.clone(),
            refused: refused.clone(),
        };
        let (root, ended) = Actor::spawn(None, NodeActor, arguments)
            .await
            .map_err(|error| match error {
                SpawnErr::StartupFailed(why) => NodeStartError(why.to_string()),
                error => NodeStartError(error.to_string()),
            })?;
        Ok(NodeHandle {
            switchboard,
            journal_address,
            live,
            root,
            journal,
            incarnation,
            backlog,
            gate,
            store,
            registry,
            refused,
            ended,
        })
    }
}

impl NodeHandle {
    /// Returns the node's present id in the store. A process that was declared dead gets a new one.
    pub fn node(&self) -> NodeId {
        self.incarnation.get()
    }

    /// Returns a handle to the present id.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation.clone()
    }

    /// Returns the calls that live here.
    pub fn calls(&self) -> CallRegistry {
        self.registry.clone()
    }

    /// Returns when the store refuses this process as a node, with the reason. It dials nobody any more and should end.
    pub fn refused(&self) -> impl Future<Output = String> + Send + use<> {
        let mut refused = self.refused.subscribe();
        async move {
            let why = refused.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                // The node has ended otherwise.
                None => std::future::pending().await,
            }
        }
    }

    /// Returns why the node does not dial now, or `None` if it may.
    pub fn holds_back(&self) -> Option<HoldsBack> {
        self.gate.holds_back()
    }

    /// Returns whether other nodes work on the same store, as far as this one knows.
    pub fn has_other_nodes(&self) -> bool {
        self.gate.has_other_nodes()
    }

    /// Returns the amount of data that the journal has yet to write.
    pub fn backlog(&self) -> BacklogFigures {
        self.backlog.figures()
    }

    /// Returns the number of live actors in the tree, including the root.
    pub fn actors(&self) -> usize {
        family(&self.root.get_cell())
    }

    /// Drains the node: takes no new work, places no new call, waits up to `grace` for calls to end by
    /// themselves, then hangs up the rest. If there are other nodes, inbound calls are still taken for
    /// `notice`, so that their senders notice. Returns when that is over, no call lives and every fact is on
    /// disk, or when the time limits have passed.
    pub async fn drain(&self, grace: Duration, notice: Duration) {
        // Deployments with a proxy that checks readiness have other nodes too.
        let notice = if self.has_other_nodes() { notice } else { Duration::ZERO };
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let leave = Leave {
            grace_ms: ms(grace),
            notice_ms: ms(notice),
        };
        self.until_idle(leave).await;
        self.flush().await;
    }

    async fn until_idle(&self, leave: Leave) {
        let (grace, notice) = (
            Duration::from_millis(leave.grace_ms),
            Duration::from_millis(leave.notice_ms),
        );
        let heard = Instant::now() + notice;
        let limit = heard.max(Instant::now() + grace + LAST_WORDS);
        // Set at once, for readiness checks. The root informs the actors.
        self.switchboard.draining.send_replace(true);
        let _ = self.root.cast(NodeMessage::Drain(leave));
        // Let the drain arrive before the first look, or a call on its way would not be waited for.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let (mut calls, mut told) = (self.live_calls().await, Instant::now());
        tracing::info!(calls, "draining");
        while Instant::now() < limit && (calls != Some(0) || Instant::now() < heard) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            calls = self.live_calls().await;
            if told.elapsed() >= TELL_OF_CALLS_EVERY && calls != Some(0) {
                tracing::info!(calls, "draining");
                told = Instant::now();
            }
        }
    }

    /// Stops taking inbound calls and live calls of other nodes. Waits up to `grace`, plus the time to write
    /// outcomes, for the calls that came in the last moments. Used at the end of a drain, when nothing should
    /// be sent here any more.
    pub async fn take_no_more(&self, grace: Duration) {
        let limit = Instant::now() + grace + LAST_WORDS;
        while self.switchboard.lines.ask(LinesMessage::TakeNoMore, INSPECTION).await != Some(0)
            && Instant::now() < limit
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.flush().await;
    }

    /// Returns the number of live calls, or `None` while the line pool is too busy or restarting.
    async fn live_calls(&self) -> Option<usize> {
        let lines: Option<LinesSnapshot> = self.switchboard.lines.ask(LinesMessage::Inspect, INSPECTION).await;
        lines.map(|lines| lines.calls.len() + lines.granted)
    }

    async fn flush(&self) {
        if !self.journal.flush(LAST_FACTS).await {
            tracing::error!("facts left unwritten");
        }
    }

    /// Tells the store that this process is about to end at once. Nothing is dialed from then on, and other
    /// nodes take over its calls. Returns whether the store heard it.
    pub fn last_word(&self) -> impl Future<Output = bool> + Send + use<> {
        let (gate, store, incarnation) = (self.gate.clone(), Arc::clone(&self.store), self.incarnation.clone());
        async move {
            gate.fence();
            let said = timeout(LAST_WORD_WITHIN, store.sign_off(incarnation.get())).await;
            matches!(said, Ok(Ok(())))
        }
    }

    /// Ends the tree at once. Calls still running are cut off and settled by another node or the next start,
    /// so drain first. Finally the node signs off in the store, so that other nodes take over at once.
    pub async fn stop(self) {
        self.flush().await;
        // From here on no permit is requested, and no granted permit is used.
        self.gate.fence();
        self.root.stop(None);
        let _ = self.ended.await;
        let node = self.incarnation.get();
        match timeout(SIGNS_OFF_WITHIN, self.store.sign_off(node)).await {
            Ok(Ok(())) => tracing::info!(%node, "signed off"),
            Ok(Err(error)) => tracing::warn!(%node, %error, "signing off failed"),
            Err(_) => tracing::warn!(%node, "signing off timed out"),
        }
    }
}

/// Counts an actor and all actors below it.
fn family(actor: &ActorCell) -> usize {
    1 + actor.get_children().iter().map(family).sum::<usize>()
}
