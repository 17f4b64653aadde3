//! The campaign supervisor: it reads rows, starts campaigns, and restarts those that crash.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant;

use super::{CampaignsMessage, LoadedCampaign};
use crate::{
    campaign::{
        CampaignActor, CampaignArguments, CampaignCommand, CampaignMessage, CommandError, CommandReply, Event, Intent,
        Resting, Wish, commit, unavailable,
    },
    lines::{Dialer, LinesMessage},
    supervision::{Backoff, Reports, Restarts, Sibling, TaskGuard, undelivered},
};
use domain::{
    id::{AccountId, CampaignId, NodeId},
    ports::{
        Ports,
        store::{ActiveCampaign, CampaignRow, CampaignStatus, Store, StoreError},
    },
};

/// Number of crashes within a minute after which a campaign is not restarted.
const CRASHES: usize = 5;

/// Arguments with which the supervisor starts.
pub struct CampaignsArguments {
    /// Id of this process.
    pub node: NodeId,
    /// The ports to the outside.
    pub ports: Ports,
    /// The line pool.
    pub lines: Sibling<LinesMessage>,
    /// Longest ringing time of a call.
    pub ring_timeout: Duration,
    /// Interval at which it looks for changes of other nodes.
    pub look_every: Duration,
    /// Whether other nodes use the same store.
    pub other_nodes: bool,
}

struct Child {
    account: AccountId,
    actor: ActorRef<CampaignMessage>,
    /// Number of commands passed on to it.
    commands: u64,
}

/// The campaign supervisor.
pub struct CampaignsActor;

/// State of the actor.
pub struct CampaignsState {
    with: CampaignsArguments,
    children: HashMap<CampaignId, Child>,
    by_actor: HashMap<ActorId, CampaignId>,
    crashes: HashMap<CampaignId, Restarts>,
    /// Whether it has resumed: the store regards earlier processes as dead, so dialing may begin.
    ready: bool,
    draining: bool,
    resuming: Option<TaskGuard>,
    /// Task that looks for changes of other nodes.
    looking: Option<TaskGuard>,
    /// Campaigns that are being read, or that wait for their restart.
    on_their_way: HashSet<CampaignId>,
}

impl Actor for CampaignsActor {
    type Msg = CampaignsMessage;
    type State = CampaignsState;
    type Arguments = CampaignsArguments;

    async fn pre_start(
        &self,
        _me: ActorRef<CampaignsMessage>,
        arguments: CampaignsArguments,
    ) -> Result<CampaignsState, ActorProcessingErr> {
        Ok(CampaignsState {
            with: arguments,
            children: HashMap::new(),
            by_actor: HashMap::new(),
            crashes: HashMap::new(),
            ready: false,
            draining: false,
            resuming: None,
            looking: None,
            on_their_way: HashSet::new(),
        })
    }

    async fn handle(
        &self,
        me: ActorRef<CampaignsMessage>,
        message: CampaignsMessage,
        state: &mut CampaignsState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CampaignsMessage::Command {
                account,
                campaign,
                command,
                reply,
            } => state.command(&me, account, campaign, (command, reply)),
            CampaignsMessage::Resume => {
                state.ready = true;
                let (me, store) = (me.clone(), Arc::clone(&state.with.ports.store));
                state.resuming = Some(TaskGuard::spawn(resume(me.clone(), store)));
                state.look(&me);
            }
            CampaignsMessage::Drain => {
                state.draining = true;
                state.resuming = None;
                state.looking = None;
                state.tell_all(|| CampaignMessage::Drain);
            }
            CampaignsMessage::OtherNodes(others) => {
                if others != state.with.other_nodes {
                    state.with.other_nodes = others;
                    state.tell_all(|| CampaignMessage::OtherNodes(others));
                }
                state.look(&me);
            }
            CampaignsMessage::LookAgain if state.ready && !state.draining => {
                tokio::spawn(look_once(me.clone(), Arc::clone(&state.with.ports.store)));
            }
            // Campaigns not taken up yet will be read then, and a draining supervisor no longer looks.
            CampaignsMessage::LookAgain => {}
            CampaignsMessage::Active(active) => state.active(&me, &active),
            CampaignsMessage::LinesRestarted => state.tell_all(|| CampaignMessage::LinesRestarted),
            CampaignsMessage::Resting(Resting { campaign, commands }) => state.resting(campaign, commands),
            CampaignsMessage::ChildGone { campaign, crashed } => state.child_gone(&me, campaign, crashed),
            CampaignsMessage::Loaded(loaded) => state.loaded(&me, *loaded).await,
            CampaignsMessage::Inspect(reply) => {
                let _ = reply.send(state.children.len());
            }
            #[cfg(feature = "testkit")]
            CampaignsMessage::Sabotage(campaign) => {
                if let Some(child) = state.children.get(&campaign) {
                    let _ = child.actor.cast(CampaignMessage::Sabotage);
                }
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<CampaignsMessage>,
        event: SupervisionEvent,
        state: &mut CampaignsState,
    ) -> Result<(), ActorProcessingErr> {
        let (actor, crash) = match event {
            SupervisionEvent::ActorTerminated(actor, _, _) => (actor, None),
            SupervisionEvent::ActorFailed(actor, error) => (actor, Some(error)),
            _ => return Ok(()),
        };
        if let Some(campaign) = state.by_actor.remove(&actor.get_id()) {
            if let Some(error) = &crash {
                tracing::error!(%campaign, %error, "campaign crashed");
            }
            let crashed = crash.is_some();
            me.cast(CampaignsMessage::ChildGone { campaign, crashed })?;
        }
        Ok(())
    }
}

impl CampaignsState {
    fn command(
        &mut self,
        me: &ActorRef<CampaignsMessage>,
        account: AccountId,
        campaign: CampaignId,
        (command, reply): (CampaignCommand, CommandReply),
    ) {
        let refusal = match self.children.get(&campaign) {
            _ if self.ends_alone() => Some(CommandError::Unavailable("the service is shutting down".into())),
            _ if !self.ready => Some(CommandError::Unavailable("the service is starting".into())),
            Some(child) if child.account != account => Some(CommandError::NotFound),
            _ => None,
        };
        if let Some(refusal) = refusal {
            let _ = reply.send(Err(refusal));
        } else if self.children.contains_key(&campaign) {
            self.pass_on(campaign, (command, reply));
        } else {
            let waiting = Some((command, reply));
            let (me, store) = (me.clone(), Arc::clone(&self.with.ports.store));
            tokio::spawn(async move {
                let row = store.campaign(account, campaign).await.map_err(|e| unavailable(&e));
                tell_loaded(&me, campaign, row, waiting);
            });
        }
    }

    /// Returns whether the node is shutting down and no other node would carry out a command.
    fn ends_alone(&self) -> bool {
        self.draining && !self.with.other_nodes
    }

    fn pass_on(&mut self, campaign: CampaignId, (command, reply): (CampaignCommand, CommandReply)) {
        let lost = match self.children.get_mut(&campaign) {
            Some(child) => {
                child.commands += 1;
                let sent = child.actor.cast(CampaignMessage::Command { command, reply });
                sent.err().and_then(undelivered)
            }
            None => Some(CampaignMessage::Command { command, reply }),
        };
        if let Some(CampaignMessage::Command { reply, .. }) = lost {
            let _ = reply.send(Err(CommandError::Unavailable("the campaign is being restarted".into())));
        }
    }

    /// Handles a row that was read: its actor is started if there is none, and gets the command that waited.
    async fn loaded(&mut self, me: &ActorRef<CampaignsMessage>, loaded: LoadedCampaign) {
        let LoadedCampaign { campaign, row, command } = loaded;
        self.on_their_way.remove(&campaign);
        let error = match row {
            Err(error) => Some(error),
            Ok(_) if self.ends_alone() => Some(CommandError::Unavailable("the service is shutting down".into())),
            Ok(row) if !self.children.contains_key(&campaign) => self.spawn(me, row).await,
            Ok(_) => None,
        };
        match (command, error) {
            (Some(command), None) => self.pass_on(campaign, command),
            (Some((_, reply)), Some(error)) => {
                let _ = reply.send(Err(error));
            }
            (None, Some(error)) => tracing::warn!(%campaign, %error, "campaign not started"),
            (None, None) => {}
        }
    }

    async fn spawn(&mut self, me: &ActorRef<CampaignsMessage>, row: CampaignRow) -> Option<CommandError> {
        let (campaign, account) = (row.id, row.account);
        let arguments = CampaignArguments {
            row,
            node: self.with.node,
            ports: self.with.ports.clone(),
            lines: self.with.lines.clone(),
            campaigns: Reports::to(me, CampaignsMessage::Resting),
            ring_timeout: self.with.ring_timeout,
            other_nodes: self.with.other_nodes,
        };
        match Actor::spawn_linked(None, CampaignActor, arguments, me.get_cell()).await {
            Ok((actor, _)) => {
                self.by_actor.insert(actor.get_id(), campaign);
                if self.draining {
                    let _ = actor.cast(CampaignMessage::Drain);
                }
                let child = Child {
                    account,
                    actor,
                    commands: 0,
                };
                self.children.insert(campaign, child);
                None
            }
            Err(error) => Some(CommandError::Unavailable(format!(
                "the campaign did not start: {error}"
            ))),
        }
    }

    /// Looks for changes of other nodes as long as there are any.
    fn look(&mut self, me: &ActorRef<CampaignsMessage>) {
        if !self.with.other_nodes || !self.ready || self.draining {
            self.looking = None;
        } else if self.looking.is_none() {
            let (me, store) = (me.clone(), Arc::clone(&self.with.ports.store));
            self.looking = Some(TaskGuard::spawn(look(me, store, self.with.look_every)));
        }
    }

    /// Takes up what another node made active, and tells the others their version in the store.
    fn active(&mut self, me: &ActorRef<CampaignsMessage>, active: &[ActiveCampaign]) {
        if self.draining {
            return;
        }
        let versions: HashMap<CampaignId, i64> = active.iter().map(|mark| (mark.id, mark.version)).collect();
        for (campaign, child) in &self.children {
            let _ = child.actor.cast(CampaignMessage::Seen(versions.get(campaign).copied()));
        }
        for mark in active {
            let known = self.children.contains_key(&mark.id) || !self.on_their_way.insert(mark.id);
            if !known {
                let (me, store, mark) = (me.clone(), Arc::clone(&self.with.ports.store), *mark);
                tokio::spawn(async move {
                    let row = store.campaign(mark.account, mark.id).await;
                    tell_loaded(&me, mark.id, row.map_err(|e| unavailable(&e)), None);
                });
            }
        }
    }

    fn tell_all(&self, message: impl Fn() -> CampaignMessage) {
        for child in self.children.values() {
            let _ = child.actor.cast(message());
        }
    }

    /// Ends the actor of a campaign that rests, unless a command is on its way to it.
    fn resting(&mut self, campaign: CampaignId, commands: u64) {
        if self.children.get(&campaign).is_some_and(|c| c.commands == commands)
            && let Some(child) = self.children.remove(&campaign)
        {
            self.by_actor.remove(&child.actor.get_id());
            self.crashes.remove(&campaign);
            child.actor.stop(None);
            let _ = self.with.lines.cast(LinesMessage::Withdraw(Dialer::Campaign(campaign)));
        }
    }

    fn child_gone(&mut self, me: &ActorRef<CampaignsMessage>, campaign: CampaignId, crashed: bool) {
        let Some(child) = self.children.remove(&campaign) else {
            return;
        };
        // Its granted lines return; its calls live on.
        let _ = self.with.lines.cast(LinesMessage::Withdraw(Dialer::Campaign(campaign)));
        if !crashed || self.draining {
            return;
        }
        let crashes = self.crashes.entry(campaign).or_default().crashed(Instant::now());
        let (me, ports) = (me.clone(), self.with.ports.clone());
        self.on_their_way.insert(campaign);
        if crashes > CRASHES {
            tracing::error!(%campaign, crashes, "campaign keeps crashing, not restarted");
            tokio::spawn(async move {
                give_up(ports, child.account, campaign).await;
                // It may be taken up again after another launch.
                let given_up = CommandError::Unavailable("the campaign keeps crashing".into());
                tell_loaded(&me, campaign, Err(given_up), None);
            });
        } else {
            tokio::spawn(async move {
                tokio::time::sleep(Restarts::delay(crashes)).await;
                let row = read(&ports.store, child.account, campaign).await;
                tell_loaded(&me, campaign, row.map_err(|e| unavailable(&e)), None);
            });
        }
    }
}

fn tell_loaded(
    me: &ActorRef<CampaignsMessage>,
    campaign: CampaignId,
    row: Result<CampaignRow, CommandError>,
    command: Option<(CampaignCommand, CommandReply)>,
) {
    let loaded = Box::new(LoadedCampaign { campaign, row, command });
    let _ = me.cast(CampaignsMessage::Loaded(loaded));
}

fn patience() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(5))
}

/// Reads a row, and retries while the database is unavailable.
async fn read(store: &Arc<dyn Store>, account: AccountId, campaign: CampaignId) -> Result<CampaignRow, StoreError> {
    let mut backoff = patience();
    loop {
        match store.campaign(account, campaign).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(backoff.failed()).await,
            other => return other,
        }
    }
}

/// Polls which campaigns are active.
async fn look(me: ActorRef<CampaignsMessage>, store: Arc<dyn Store>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        if let Err(error) = look_once_at(&me, &store).await {
            tracing::debug!(%error, "look-up of active campaigns failed");
        }
    }
}

async fn look_once_at(me: &ActorRef<CampaignsMessage>, store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let active = store.active_versions().await?;
    let _ = me.cast(CampaignsMessage::Active(active));
    Ok(())
}

/// Asks once which campaigns are active, and retries while the database is unavailable.
async fn look_once(me: ActorRef<CampaignsMessage>, store: Arc<dyn Store>) {
    let mut backoff = patience();
    while let Err(StoreError::Unavailable(_)) = look_once_at(&me, &store).await {
        tokio::time::sleep(backoff.failed()).await;
    }
}

/// Takes up every active campaign of the store.
async fn resume(me: ActorRef<CampaignsMessage>, store: Arc<dyn Store>) {
    let mut backoff = patience();
    let rows = loop {
        match store.active_campaigns().await {
            Ok(rows) => break rows,
            Err(error) => {
                tracing::warn!(%error, "reading active campaigns failed, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
        }
    };
    for row in rows {
        tell_loaded(&me, row.id, Ok(row), None);
    }
}

/// Records that a campaign cannot go on.
async fn give_up(ports: Ports, account: AccountId, campaign: CampaignId) {
    let intent = Intent {
        reason: Some("the campaign keeps crashing; see the log, then launch it again".into()),
        ..Event::CannotGoOn.into()
    };
    let mut backoff = patience();
    while let Ok(row) = read(&ports.store, account, campaign).await {
        match commit(ports.clone(), row, Wish::Own(intent.clone())).await.1 {
            Err(CommandError::Unavailable(_)) => tokio::time::sleep(backoff.failed()).await,
            // Another writer has changed it meanwhile.
            Err(CommandError::InvalidTransition(CampaignStatus::Running | CampaignStatus::Delayed)) => {
                tokio::time::sleep(backoff.failed()).await;
            }
            _ => return,
        }
    }
}
