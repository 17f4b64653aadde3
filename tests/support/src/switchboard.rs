//! A node that consists only of its command interface: it updates the campaign's row, or answers as a test says.

use std::sync::{Arc, Mutex, PoisonError};

use actors::{
    campaign::{CampaignCommand, CampaignUpdate, CommandError},
    campaigns::CampaignsMessage,
    lines::LinesMessage,
    single_calls::{PlaceError, SingleCallsMessage},
    switchboard::Switchboard,
};
use domain::{
    id::CampaignId,
    ports::{
        carrier::InboundRefusal,
        store::{CampaignEdit, CampaignRow, CampaignStatus, ScheduleText, StateChange, Store, StoreError},
    },
};
use tokio::sync::watch;

use super::fake_actor::{answering, answering_at_once};

/// Reaction of a fake node to a command.
#[derive(Debug, Clone, Default)]
pub enum Mood {
    /// Carries out the command.
    #[default]
    Obedient,
    /// Refuses it.
    Refusing(CommandError),
    /// Accepts it and never answers.
    Silent,
}

/// Reaction, and the received commands.
type Script = (Mood, Vec<(CampaignId, CampaignCommand)>);

/// The handle a test keeps.
#[derive(Clone)]
pub struct FakeNode {
    inner: Arc<Mutex<Script>>,
    stopping: watch::Sender<bool>,
}

impl Default for FakeNode {
    fn default() -> Self {
        Self {
            inner: Arc::default(),
            stopping: watch::Sender::new(false),
        }
    }
}

impl FakeNode {
    pub fn set(&self, mood: Mood) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).0 = mood;
    }

    pub fn commands(&self) -> Vec<(CampaignId, CampaignCommand)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Returns the signal that ends the handlers' streams.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Ends the handlers' streams.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    fn mood(&self) -> Mood {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn note(&self, campaign: CampaignId, command: CampaignCommand) -> Mood {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.1.push((campaign, command));
        inner.0.clone()
    }

    /// Spawns its actors, which keep campaigns and calls in `store` and hold no call.
    pub async fn spawn(&self, store: Arc<dyn Store>) -> Switchboard {
        let (node, rows) = (self.clone(), store.clone());
        let campaigns = answering(move |message| command(node.clone(), rows.clone(), message)).await;
        let node = self.clone();
        let single_calls = answering(move |message| place(node.clone(), store.clone(), message)).await;
        Switchboard {
            campaigns: campaigns.into(),
            single_calls: single_calls.into(),
            lines: answering_at_once(no_call).await.into(),
            ..Switchboard::default()
        }
    }
}

async fn command(node: FakeNode, store: Arc<dyn Store>, message: CampaignsMessage) {
    let CampaignsMessage::Command {
        account,
        campaign,
        command,
        reply,
    } = message
    else {
        return;
    };
    let answer = match node.note(campaign, command.clone()) {
        Mood::Obedient => match store.campaign(account, campaign).await {
            Ok(row) => obey(&*store, &row, command).await,
            Err(_) => Err(CommandError::NotFound),
        },
        Mood::Refusing(error) => Err(error),
        Mood::Silent => return std::mem::forget(reply),
    };
    let _ = reply.send(answer);
}

async fn place(node: FakeNode, store: Arc<dyn Store>, message: SingleCallsMessage) {
    let SingleCallsMessage::Place {
        account,
        new,
        ticket,
        reply,
    } = message
    else {
        return;
    };
    let answer = match node.mood() {
        Mood::Obedient => {
            let queued = store.create_call(account, *new, ticket.as_ref()).await;
            queued.map_err(PlaceError::from)
        }
        Mood::Refusing(_) => Err(PlaceError::Refused("the service is shutting down")),
        Mood::Silent => return std::mem::forget(reply),
    };
    let _ = reply.send(answer);
}

fn no_call(message: LinesMessage) {
    match message {
        LinesMessage::Inbound { reply, .. } => drop(reply.send(Err(InboundRefusal::NobodyAnswers))),
        LinesMessage::EndCall { reply, .. } | LinesMessage::Holds { reply, .. } => drop(reply.send(false)),
        _ => {}
    }
}

async fn obey(store: &dyn Store, row: &CampaignRow, command: CampaignCommand) -> Result<CampaignRow, CommandError> {
    let running = row.status == CampaignStatus::Running;
    let (status, edit) = match (command, row.status) {
        (CampaignCommand::Update(_) | CampaignCommand::Delete | CampaignCommand::Schedule(_), _) if running => {
            return Err(CommandError::Running);
        }
        (CampaignCommand::Update(update), _) if update.version.is_some_and(|version| version != row.version) => {
            return Err(CommandError::Stale(row.version));
        }
        (CampaignCommand::Delete, _) => {
            let deleted = store.delete_campaign(row.id, row.version).await;
            return deleted.map(|()| row.clone()).map_err(|error| unavailable(&error));
        }
        (CampaignCommand::Update(update), _) => (changed(row, &update), edit(row, *update)),
        (CampaignCommand::Schedule(text), _) => (
            CampaignStatus::Waiting,
            CampaignEdit {
                schedule: Some(text),
                ..CampaignEdit::default()
            },
        ),
        (CampaignCommand::Launch, _) if running => return Err(CommandError::InvalidTransition(row.status)),
        (CampaignCommand::Launch, _) => (CampaignStatus::Running, CampaignEdit::default()),
        (_, CampaignStatus::Draft) => return Err(CommandError::InvalidTransition(row.status)),
        (CampaignCommand::Pause, _) => (CampaignStatus::Paused, CampaignEdit::default()),
        (CampaignCommand::Stop { .. }, _) => (CampaignStatus::Stopped, CampaignEdit::default()),
    };
    let change = StateChange {
        status,
        active: matches!(status, CampaignStatus::Running | CampaignStatus::Waiting),
        scheduled: status == CampaignStatus::Waiting,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    let changed = store.update_campaign(row.id, row.version, edit, change).await;
    changed.map_err(|error| unavailable(&error))
}

fn unavailable(error: &StoreError) -> CommandError {
    match error {
        StoreError::Stale => CommandError::Stale(1),
        StoreError::NotFound => CommandError::NotFound,
        other => CommandError::Unavailable(other.to_string()),
    }
}

fn changed(row: &CampaignRow, update: &CampaignUpdate) -> CampaignStatus {
    match (update.scheduled, update.active) {
        (Some(true), _) => CampaignStatus::Waiting,
        (_, Some(true)) => CampaignStatus::Running,
        (Some(false), _) => CampaignStatus::Draft,
        (_, Some(false)) => CampaignStatus::Stopped,
        (None, None) => row.status,
    }
}

fn edit(row: &CampaignRow, update: CampaignUpdate) -> CampaignEdit {
    let stored = row.schedule.clone();
    CampaignEdit {
        name: update.name,
        agent: update.agent,
        schedule: Some(ScheduleText {
            start_time: update.start_time.unwrap_or(stored.start_time),
            end_time: update.end_time.unwrap_or(stored.end_time),
            timezone: update.timezone.unwrap_or(stored.timezone),
        }),
        follow_up: update.follow_up,
        options: Some(update.options.or(row.options)),
        contacts: update.contacts,
    }
}
