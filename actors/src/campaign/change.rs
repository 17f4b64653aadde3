//! Decides a change on the row and commits it with its guard. A command is decided again if another writer
//! changed the row meanwhile.

use serde_json::{Map, Value};

use super::{Decision, Facts, Wish, decide};
use crate::campaign::{CampaignCommand, CommandError};
use domain::{
    agent::{self, Problem},
    id::{AccountId, AgentId},
    ports::{
        CannotDial, NotReady, Ports,
        store::{CampaignRow, CampaignStatus, StoreError},
    },
    workflow::graph_obstacle,
};

/// Number of decision rounds. Only other writers change the row, so needing more rounds means an error.
const ROUNDS: usize = 10;

/// Decides and commits a change. Returns the row afterwards, and whether the change was made. If another
/// writer changed the row, a command is decided again. An event of the campaign itself is not, since it may
/// no longer apply.
pub async fn commit(ports: Ports, mut row: CampaignRow, wish: Wish) -> (CampaignRow, Result<(), CommandError>) {
    for _ in 0..ROUNDS {
        match commit_once(&ports, &row, &wish).await {
            Ok(Some(changed)) => return (changed, Ok(())),
            Err(error) => return (row, Err(error)),
            Ok(None) => match ports.store.campaign(row.account, row.id).await {
                // The event was based on the old row; the campaign looks at the new row afresh.
                Ok(read) if matches!(wish, Wish::Own(_)) => {
                    let status = read.status;
                    return (read, Err(CommandError::InvalidTransition(status)));
                }
                Ok(read) => row = read,
                Err(error) => return (row, Err(unavailable(&error))),
            },
        }
    }
    let error = CommandError::Unavailable("the campaign keeps changing, try again".into());
    (row, Err(error))
}

/// Tries once. Returns `None` if the row has changed since it was read.
async fn commit_once(ports: &Ports, row: &CampaignRow, wish: &Wish) -> Result<Option<CampaignRow>, CommandError> {
    let store = &ports.store;
    let decided = match facts(ports, row, wish).await {
        Ok(facts) => decide(row, wish, &facts),
        Err(error) => Err(error),
    };
    let decision = match decided {
        Ok(decision) => decision,
        Err(error) => {
            // A refusal names the present state, so it is only valid for the present row.
            let present = store.campaign(row.account, row.id).await.map_err(|e| unavailable(&e))?;
            return if present.version == row.version {
                Err(error)
            } else {
                Ok(None)
            };
        }
    };
    check_agent(ports, row, wish, &decision).await?;
    let written = match decision {
        Decision::Turn(change) => store.change_state(row.id, row.version, change).await,
        Decision::Edit(edit, change) => store.update_campaign(row.id, row.version, *edit, change).await,
        Decision::Remove => store.delete_campaign(row.id, row.version).await.map(|()| removed(row)),
    };
    match written {
        Ok(changed) => {
            if *wish == Wish::Command(CampaignCommand::Stop { hang_up: true }) {
                let told = store.want_hang_up(changed.id, changed.version).await;
                told.map_err(|e| unavailable(&e))?;
            }
            Ok(Some(changed))
        }
        Err(StoreError::Stale) => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

async fn facts(ports: &Ports, row: &CampaignRow, wish: &Wish) -> Result<Facts, CommandError> {
    let counted = match wish {
        Wish::Command(CampaignCommand::Launch | CampaignCommand::Schedule(_)) => true,
        Wish::Command(CampaignCommand::Update(update)) => {
            update.contacts.is_some() || update.scheduled.is_some() || update.active.is_some()
        }
        Wish::Command(CampaignCommand::Pause | CampaignCommand::Stop { .. } | CampaignCommand::Delete)
        | Wish::Own(_) => false,
    };
    let remaining = if counted {
        Some(ports.store.remaining(row.id).await.map_err(|e| unavailable(&e))?)
    } else {
        None
    };
    Ok(Facts {
        now: ports.clock.now(),
        remaining,
    })
}

/// Checks that the agent exists, if the command names it or makes the campaign active, and that it may dial, if the command
/// begins a run.
async fn check_agent(ports: &Ports, row: &CampaignRow, wish: &Wish, decision: &Decision) -> Result<(), CommandError> {
    let (agent, needed): (AgentId, bool) = match decision {
        Decision::Turn(change) => (row.agent, change.active),
        Decision::Edit(edit, change) => (edit.agent.unwrap_or(row.agent), change.active || edit.agent.is_some()),
        Decision::Remove => return Ok(()),
    };
    if !needed || !matches!(wish, Wish::Command(_)) {
        return Ok(());
    }
    match ports.store.agent(row.account, agent).await {
        Ok(agent) if begins(wish) => may_dial(ports, row.account, &agent.document).await,
        Ok(_) => Ok(()),
        Err(StoreError::NotFound) => Err(CommandError::NotConfigured(format!(
            "agent {agent} does not exist any more; give the campaign another agentId"
        ))),
        // An agent that cannot be read fails the campaign later, with the reason.
        Err(StoreError::Damaged(_)) => Ok(()),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Returns whether the user asks for a run, now or later.
fn begins(wish: &Wish) -> bool {
    match wish {
        Wish::Command(CampaignCommand::Launch | CampaignCommand::Schedule(_)) => true,
        Wish::Command(CampaignCommand::Update(update)) => [update.scheduled, update.active].contains(&Some(true)),
        Wish::Command(CampaignCommand::Pause | CampaignCommand::Stop { .. } | CampaignCommand::Delete)
        | Wish::Own(_) => false,
    }
}

async fn may_dial(ports: &Ports, account: AccountId, document: &Map<String, Value>) -> Result<(), CommandError> {
    // An agent that cannot be read fails the campaign later, with the reason.
    let Ok(agent) = agent::complete(document) else {
        return Ok(());
    };
    ports.may_dial(&agent).map_err(|why| match why {
        CannotDial::Inbound => CommandError::Invalid(vec![Problem::new("agentId", "not_allowed", why.to_string())]),
        CannotDial::NotReady(NotReady(missing)) => CommandError::NotConfigured(missing),
    })?;
    match graph_obstacle(&*ports.store, account, &agent).await {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(CommandError::NotConfigured(why)),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Returns the row of a removed campaign, which does nothing any more.
pub(super) fn removed(row: &CampaignRow) -> CampaignRow {
    CampaignRow {
        status: CampaignStatus::Stopped,
        active: false,
        next_run_at: None,
        version: row.version + 1,
        ..row.clone()
    }
}

/// Converts a store error to a command error.
pub fn unavailable(error: &StoreError) -> CommandError {
    match error {
        StoreError::NotFound => CommandError::NotFound,
        other => CommandError::Unavailable(other.to_string()),
    }
}
