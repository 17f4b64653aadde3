//! Starting a node and speaking to it from outside the tree.

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

/// Facts a slow reader of the live feed may lag behind before it misses some.
const LIVE_FACTS: usize = 4096;

/// How long calls that were hung up at the end of a drain have to write their outcomes.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// How long the journal has to write what it holds.
const LAST_FACTS: Duration = Duration::from_secs(5);

/// How often a drain says how many calls are left.
const TELL_OF_CALLS_EVERY: Duration = Duration::from_secs(30);

/// How long the store may take to hear from a process that was told twice to end.
const LAST_WORD_WITHIN: Duration = Duration::from_secs(1);

/// How long the store may take to hear that this node is gone.
const SIGNS_OFF_WITHIN: Duration = Duration::from_secs(2);

/// What a node needs to know about itself.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// This start of the process.
    pub node: NodeId,
    /// The base URL at which the other nodes of the same database reach this one; none where they do not.
    pub address: Option<String>,
    /// The times on which the nodes of a database agree.
    pub times: Times,
    /// Calls at once.
    pub lines: usize,
    /// Dials per second, 0 for no limit.
    pub calls_per_second: f64,
    /// How long a call may ring.
    pub ring_timeout: Duration,
    /// What holds for every audio stream.
    pub stream: StreamSettings,
    /// How far replies are made ahead of the end of the user's turn.
    pub speculation: Speculation,
}

impl Default for NodeSettings {
    /// A new process with 100 lines, no rate limit and 30 s of ringing.
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

/// What a node is started with.
pub struct NodeArguments {
    /// The outside.
    pub ports: Ports,
    /// Figures.
    pub settings: NodeSettings,
}

/// A node that did not start.
#[derive(Debug, thiserror::Error)]
#[error("node did not start: {0}")]
pub struct NodeStartError(String);

/// Starts nodes.
pub struct Node;

/// A running node.
pub struct NodeHandle {
    /// The way in from outside.
    pub switchboard: Switchboard,
    /// The writer of facts.
    pub journal_address: Sibling<JournalMessage>,
    /// Facts as they happen.
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
    /// Starts the tree. It comes up even when the carrier or the store is away; with the store away commands are
    /// refused as unavailable until it is back.
    ///
    /// # Errors
    /// The store will not have this process among its nodes; or an actor did not start, which is a bug.
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
    /// Who it is in the store at present: one that was declared dead starts anew as another.
    pub fn node(&self) -> NodeId {
        self.incarnation.get()
    }

    /// The same, to be asked again and again.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation.clone()
    }

    /// The calls that live here.
    pub fn calls(&self) -> CallRegistry {
        self.registry.clone()
    }

    /// Returns when the store will not have this process among its nodes, with the reason: it dials nobody any more, and is
    /// to end.
    pub fn refused(&self) -> impl Future<Output = String> + Send + use<> {
        let mut refused = self.refused.subscribe();
        async move {
            let why = refused.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                // It has ended otherwise.
                None => std::future::pending().await,
            }
        }
    }

    /// Why it dials nobody now; none when it may.
    pub fn holds_back(&self) -> Option<HoldsBack> {
        self.gate.holds_back()
    }

    /// Whether other nodes work on the same store, as far as it knows.
    pub fn has_other_nodes(&self) -> bool {
        self.gate.has_other_nodes()
    }

    /// What the journal has yet to write.
    pub fn backlog(&self) -> BacklogFigures {
        self.backlog.figures()
    }

    /// Actors of the tree that live now, the root among them.
    pub fn actors(&self) -> usize {
        family(&self.root.get_cell())
    }

    /// Takes no new work, places no new call, waits up to `grace` for calls to end by themselves, then hangs up the
    /// rest. Beside other nodes, calls from outside are taken for `notice` yet, in which whoever sends them is to hear of it.
    /// Returns when that is over, no call lives and every fact is on disk, or when those had their time too.
    pub async fn drain(&self, grace: Duration, notice: Duration) {
        // Whoever has a proxy in front that asks who is ready has other nodes, too.
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
        // At once, for whoever asks whether to send work here; the root says it to its parts.
        self.switchboard.draining.send_replace(true);
        let _ = self.root.cast(NodeMessage::Drain(leave));
        // Let the drain arrive before the first look, or a call on its way would not be waited for.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let (mut calls, mut told) = (self.live_calls().await, Instant::now());
        tracing::info!(calls, "draining: calls left");
        while Instant::now() < limit && (calls != Some(0) || Instant::now() < heard) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            calls = self.live_calls().await;
            if told.elapsed() >= TELL_OF_CALLS_EVERY && calls != Some(0) {
                tracing::info!(calls, "draining: calls left");
                told = Instant::now();
            }
        }
    }

    /// Takes no call from outside and no live call of another node from now on, and waits up to `grace`, and for outcomes to
    /// be written, for those that came here in the last moments. For the end of a drain, when nobody is to send anything here any more.
    pub async fn take_no_more(&self, grace: Duration) {
        let limit = Instant::now() + grace + LAST_WORDS;
        while self.switchboard.lines.ask(LinesMessage::TakeNoMore, INSPECTION).await != Some(0)
            && Instant::now() < limit
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.flush().await;
    }

    /// None while the line pool is too busy to say, or is being started again.
    async fn live_calls(&self) -> Option<usize> {
        let lines: Option<LinesSnapshot> = self.switchboard.lines.ask(LinesMessage::Inspect, INSPECTION).await;
        lines.map(|lines| lines.calls.len() + lines.granted)
    }

    async fn flush(&self) {
        if !self.journal.flush(LAST_FACTS).await {
            tracing::error!("facts are left that could not be written");
        }
    }

    /// The last word of a process that is about to end at once: nothing is dialed from then on, and the others take what it
    /// left. Whether the store heard it.
    pub fn last_word(&self) -> impl Future<Output = bool> + Send + use<> {
        let (gate, store, incarnation) = (self.gate.clone(), Arc::clone(&self.store), self.incarnation.clone());
        async move {
            gate.fence();
            let said = timeout(LAST_WORD_WITHIN, store.sign_off(incarnation.get())).await;
            matches!(said, Ok(Ok(())))
        }
    }

    /// Ends the tree at once: calls still running are cut off and settled by another node, or the next start. Drain first.
    /// Its last word to the store is that it is gone, so that the others count it out and take what it left.
    pub async fn stop(self) {
        self.flush().await;
        // From here on no permit is asked for, and none is used that was given.
        self.gate.fence();
        self.root.stop(None);
        let _ = self.ended.await;
        let node = self.incarnation.get();
        match timeout(SIGNS_OFF_WITHIN, self.store.sign_off(node)).await {
            Ok(Ok(())) => tracing::info!(%node, "signed off"),
            Ok(Err(error)) => tracing::warn!(%node, %error, "not signed off: the others find out by its silence"),
            Err(_) => tracing::warn!(%node, "not signed off in time: the others find out by its silence"),
        }
    }
}

/// An actor and all below it.
fn family(actor: &ActorCell) -> usize {
    1 + actor.get_children().iter().map(family).sum::<usize>()
}
