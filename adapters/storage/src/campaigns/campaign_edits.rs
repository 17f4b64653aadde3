//! Guarded changes of a campaign: its state, its fields including contacts, and its deletion.

use domain::{
    id::CampaignId,
    ports::store::{CampaignEdit, CampaignRow, StateChange, StoreError, StoreResult},
};

use super::{
    campaign_contacts,
    campaign_rows::{VISIBLE, get, set_options, set_state, visible_list},
    waiting_attempts,
};
use crate::engine::{
    Work, locks,
    rows::{Fetch, affected, composed, to_json},
};

/// Returns whether the agent of a campaign or import exists.
pub(crate) async fn has_agent(work: &mut Work<'_>, id: CampaignId) -> StoreResult<bool> {
    let query = sqlx::query(
        "SELECT g.id FROM campaigns c JOIN agents g ON g.id = c.agent WHERE c.id = $1 AND g.deleted_at IS NULL",
    );
    let row = query.bind(id.to_string()).optional(&mut *work.conn).await?;
    Ok(row.is_some())
}

/// Changes the state under its version. Returns `Stale` too if a campaign that was over begins again without its agent.
pub(crate) async fn change_state(
    work: &mut Work<'_>,
    id: CampaignId,
    version: i64,
    change: StateChange,
) -> StoreResult<CampaignRow> {
    locks::before_campaign_change(work, id).await?;
    if !change.status.is_over() && get(work, id).await?.status.is_over() && !has_agent(work, id).await? {
        return Err(StoreError::Stale);
    }
    let cancel_waiting = change.cancel_waiting;
    set_state(work, id, version, change).await?;
    if cancel_waiting {
        waiting_attempts::cancel_waiting(work, id).await?;
    }
    get(work, id).await
}

/// Updates a campaign. The guarded state change goes first and locks the row, so a stale row is never edited.
pub(crate) async fn update(
    mut work: Work<'_>,
    id: CampaignId,
    version: i64,
    edit: CampaignEdit,
    change: StateChange,
) -> StoreResult<CampaignRow> {
    change_state(&mut work, id, version, change.clone()).await?;
    if let Some(import) = edit.contacts {
        waiting_attempts::cancel_waiting(&mut work, id).await?;
        campaign_contacts::replace(&mut work, id, import).await?;
    }
    let hands_over = edit.agent.is_some();
    set_fields(&mut work, id, edit).await?;
    if hands_over && !has_agent(&mut work, id).await? {
        return Err(StoreError::Stale);
    }
    get(&mut work, id).await
}

async fn set_fields(work: &mut Work<'_>, id: CampaignId, edit: CampaignEdit) -> StoreResult<()> {
    let follow_up = edit.follow_up.as_ref().map(to_json).transpose()?;
    let update = sqlx::query(
        "UPDATE campaigns SET name = COALESCE($2, name), name_folded = COALESCE($3, name_folded), \
         agent = COALESCE($4, agent), follow_up = COALESCE($5, follow_up) WHERE id = $1",
    )
    .bind(id.to_string())
    .bind(edit.name.clone())
    .bind(edit.name.map(|name| name.to_lowercase()))
    .bind(edit.agent.map(|agent| agent.to_string()))
    .bind(follow_up);
    affected(update, &mut *work.conn).await?;
    if let Some(schedule) = edit.schedule {
        let update = sqlx::query("UPDATE campaigns SET start_time = $2, end_time = $3, timezone = $4 WHERE id = $1")
            .bind(id.to_string())
            .bind(schedule.start_time)
            .bind(schedule.end_time)
            .bind(schedule.timezone);
        affected(update, work.conn).await?;
    }
    if let Some(options) = edit.options {
        set_options(work, id, options).await?;
    }
    match edit.agent {
        Some(agent) => waiting_attempts::hand_waiting_to(work, id, agent).await,
        None => Ok(()),
    }
}

pub(crate) async fn delete(mut work: Work<'_>, id: CampaignId, version: i64) -> StoreResult<()> {
    let query = composed(format!(
        "UPDATE campaigns AS c SET deleted_at = $3, updated_at = $3, active = 0, version = version + 1 \
         WHERE c.id = $1 AND c.version = $2 AND {VISIBLE}"
    ))
    .bind(id.to_string())
    .bind(version)
    .bind(work.now.0);
    if affected(query, work.conn).await? == 0 {
        return visible_list(&mut work, id).await.and(Err(StoreError::Stale));
    }
    waiting_attempts::cancel_waiting(&mut work, id).await
}
