//! The campaign supervisor: reads rows, spawns campaigns, restarts those that crash.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant;

use super::{CampaignCommand, CampaignsMessage, CommandError, LoadedCampaign};
use crate::{
    campaign::{
        CampaignActor, CampaignArguments, CampaignMessage, CommandReply, Event, Intent, Wish, commit, unavailable,
    },
    id::{AccountId, CampaignId, NodeId},
    lines::{Dialer, LinesMessage},
    node::{Backoff, Restarts, Sibling, TaskGuard, undelivered},
    ports::{
        Ports,
        store::{CampaignRow, Store, StoreError},
    },
};

/// A campaign that crashes more often than this within a minute is not started again.
const CRASHES: usize = 5;

/// What the supervisor is started with.
pub struct CampaignsArguments {
    /// This process.
    pub node: NodeId,
    /// The outside.
    pub ports: Ports,
    /// Who has the lines.
    pub lines: Sibling<LinesMessage>,
    /// How long a call may ring.
    pub ring_timeout: Duration,
}

struct Child {
    account: AccountId,
    actor: ActorRef<CampaignMessage>,
    /// Commands passed on to it.
    commands: u64,
}

/// The campaign supervisor.
pub struct CampaignsActor;

/// Its state.
pub struct CampaignsState {
    with: CampaignsArguments,
    children: HashMap<CampaignId, Child>,
    by_actor: HashMap<ActorId, CampaignId>,
    crashes: HashMap<CampaignId, Restarts>,
    /// Resumed: earlier processes are dead for the store, so that dialing may begin.
    ready: bool,
    draining: bool,
    resuming: Option<TaskGuard>,
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
                state.resuming = Some(TaskGuard::spawn(resume(me, store)));
            }
            CampaignsMessage::Drain => {
                state.draining = true;
                state.resuming = None;
                state.tell_all(|| CampaignMessage::Drain);
            }
            CampaignsMessage::LinesRestarted => state.tell_all(|| CampaignMessage::LinesRestarted),
            CampaignsMessage::Resting { campaign, commands } => state.resting(campaign, commands),
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
            _ if self.draining => Some(CommandError::Unavailable("the service is shutting down".into())),
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

    /// A row was read: its actor is started if it has none, and gets the command that waited.
    async fn loaded(&mut self, me: &ActorRef<CampaignsMessage>, loaded: LoadedCampaign) {
        let LoadedCampaign { campaign, row, command } = loaded;
        let error = match row {
            Err(error) => Some(error),
            Ok(_) if self.draining => Some(CommandError::Unavailable("the service is shutting down".into())),
            Ok(row) if !self.children.contains_key(&campaign) => self.spawn(me, row).await,
            Ok(_) => None,
        };
        match (command, error) {
            (Some(command), None) => self.pass_on(campaign, command),
            (Some((_, reply)), Some(error)) => {
                let _ = reply.send(Err(error));
            }
            (None, Some(error)) => tracing::warn!(%campaign, %error, "campaign not taken up"),
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
            campaigns: me.clone(),
            ring_timeout: self.with.ring_timeout,
        };
        match Actor::spawn_linked(None, CampaignActor, arguments, me.get_cell()).await {
            Ok((actor, _)) => {
                self.by_actor.insert(actor.get_id(), campaign);
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

    fn tell_all(&self, message: impl Fn() -> CampaignMessage) {
        for child in self.children.values() {
            let _ = child.actor.cast(message());
        }
    }

    /// Ends a campaign's actor that rests, unless a command is on its way to it.
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
        // Its grants flow back; its calls live on.
        let _ = self.with.lines.cast(LinesMessage::Withdraw(Dialer::Campaign(campaign)));
        if !crashed || self.draining {
            return;
        }
        let crashes = self.crashes.entry(campaign).or_default().crashed(Instant::now());
        let (me, ports) = (me.clone(), self.with.ports.clone());
        if crashes > CRASHES {
            tracing::error!(%campaign, crashes, "campaign keeps crashing and is not started again");
            tokio::spawn(give_up(ports, child.account, campaign));
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

/// Reads a row, however long the database is away.
async fn read(store: &Arc<dyn Store>, account: AccountId, campaign: CampaignId) -> Result<CampaignRow, StoreError> {
    let mut backoff = patience();
    loop {
        match store.campaign(account, campaign).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(backoff.failed()).await,
            other => return other,
        }
    }
}

/// Takes up every active campaign of the store.
async fn resume(me: ActorRef<CampaignsMessage>, store: Arc<dyn Store>) {
    let mut backoff = patience();
    let rows = loop {
        match store.active_campaigns().await {
            Ok(rows) => break rows,
            Err(error) => {
                tracing::warn!(%error, "active campaigns could not be read, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
        }
    };
    for row in rows {
        tell_loaded(&me, row.id, Ok(row), None);
    }
}

/// Writes down that a campaign cannot go on.
async fn give_up(ports: Ports, account: AccountId, campaign: CampaignId) {
    let intent = Intent {
        reason: Some("the campaign keeps crashing; see the log, then launch it again".into()),
        ..Event::CannotGoOn.into()
    };
    let mut backoff = patience();
    while let Ok(row) = read(&ports.store, account, campaign).await {
        match commit(ports.clone(), row, Wish::Own(intent.clone())).await.1 {
            Err(CommandError::Unavailable(_)) => tokio::time::sleep(backoff.failed()).await,
            _ => return,
        }
    }
}
