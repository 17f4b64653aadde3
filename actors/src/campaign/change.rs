//! A change of state, decided on the row and committed with its guard; decided again when the row was changed by
//! somebody else meanwhile.

use std::sync::Arc;

use super::{Effect, Event, State};
use crate::{
    campaigns::{CampaignCommand, CommandError},
    ports::store::{CampaignRow, StateChange, Store, StoreError},
    time::Timestamp,
};

/// An event with what the row is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// What happens.
    pub event: Event,
    /// The new `nextRunAt`.
    pub next_run_at: Option<Timestamp>,
    /// Why, for `failed` and `delayed`.
    pub reason: Option<String>,
}

impl From<Event> for Intent {
    fn from(event: Event) -> Self {
        Self {
            event,
            next_run_at: None,
            reason: None,
        }
    }
}

/// What is to become of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A user's command.
    Command(CampaignCommand),
    /// An event of the campaign's own.
    Own(Intent),
}

impl Wish {
    fn intent(&self) -> Result<Intent, CommandError> {
        match self {
            Self::Own(intent) => Ok(intent.clone()),
            Self::Command(CampaignCommand::Launch) => Ok(Event::Launch.into()),
            Self::Command(CampaignCommand::Pause) => Ok(Event::Pause.into()),
            Self::Command(CampaignCommand::Stop { .. }) => Ok(Event::Stop.into()),
            Self::Command(CampaignCommand::Schedule(_) | CampaignCommand::Update(_) | CampaignCommand::Delete) => {
                Err(CommandError::Unavailable("not possible yet".into()))
            }
        }
    }
}

/// What an intent means for a row. Free of I/O.
pub fn decide(row: &CampaignRow, intent: &Intent) -> Result<StateChange, CommandError> {
    let state = State::of(row);
    if (state, intent.event) == (State::Completed, Event::Launch) {
        return Err(CommandError::NothingToDial);
    }
    let (next, effects) = state
        .apply(intent.event)
        .map_err(|_| CommandError::InvalidTransition(row.status))?;
    Ok(StateChange {
        status: next.status(),
        active: next.active(),
        scheduled: row.scheduled,
        next_run_at: intent.next_run_at,
        opens_from: row.opens_from,
        closes_at: row.closes_at,
        reason: intent.reason.clone(),
        cancel_waiting: effects.contains(&Effect::CancelWaiting),
    })
}

/// Rows change under our feet by other writers only; more rounds than this mean that something is wrong.
const ROUNDS: usize = 10;

/// Decides and commits. The row as it is afterwards, and whether the change was made.
pub async fn commit(
    store: Arc<dyn Store>,
    mut row: CampaignRow,
    wish: Wish,
) -> (CampaignRow, Result<(), CommandError>) {
    let intent = match wish.intent() {
        Ok(intent) => intent,
        Err(error) => return (row, Err(error)),
    };
    for _ in 0..ROUNDS {
        match commit_once(&store, &row, &intent).await {
            Ok(Some(changed)) => return (changed, Ok(())),
            Err(error) => return (row, Err(error)),
            Ok(None) => match store.campaign(row.account, row.id).await {
                Ok(read) => row = read,
                Err(error) => return (row, Err(unavailable(&error))),
            },
        }
    }
    let error = CommandError::Unavailable("the campaign keeps changing, try again".into());
    (row, Err(error))
}

/// None when the row is not the one that was read.
async fn commit_once(
    store: &Arc<dyn Store>,
    row: &CampaignRow,
    intent: &Intent,
) -> Result<Option<CampaignRow>, CommandError> {
    let decided = decide(row, intent);
    if let (Ok(_), Event::Launch) = (&decided, intent.event) {
        let left = store.remaining(row.id).await.map_err(|e| unavailable(&e))?;
        if left.due + left.later + left.open == 0 {
            return Err(CommandError::NothingToDial);
        }
    }
    let change = match decided {
        Ok(change) => change,
        Err(error) => {
            // A refusal names the present state, so it is given on the present row only.
            let present = store.campaign(row.account, row.id).await.map_err(|e| unavailable(&e))?;
            return if present.version == row.version {
                Err(error)
            } else {
                Ok(None)
            };
        }
    };
    match store.change_state(row.id, row.version, change).await {
        Ok(changed) => Ok(Some(changed)),
        Err(StoreError::Stale) => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

/// A store's failure as a command's.
pub fn unavailable(error: &StoreError) -> CommandError {
    match error {
        StoreError::NotFound => CommandError::NotFound,
        other => CommandError::Unavailable(other.to_string()),
    }
}
