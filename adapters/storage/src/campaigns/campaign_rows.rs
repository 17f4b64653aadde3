//! Rows of visible campaigns: one campaign, its list, its state, and the update that makes its node look again.

use domain::{
    campaign_options::CampaignOptions,
    id::CampaignId,
    ports::store::{CampaignRow, CampaignStatus, ScheduleText, StateChange, StoreError, StoreResult},
};
use serde_json::Map;
use sqlx::any::AnyRow;

use crate::{
    engine::{
        Work,
        rows::{Columns, Fetch, affected, composed},
    },
    events::account_events,
};

/// Column of each option, among those of [`SELECT`].
const OPTIONS: [(&str, &str); 2] = [
    ("max_concurrent_calls", "maxConcurrentCalls"),
    ("ring_timeout_s", "ringTimeoutSeconds"),
];

/// Columns for `read` from `campaigns c`.
pub(crate) const SELECT: &str = "SELECT c.id, c.account, c.name, c.agent, c.status, c.version, c.active, c.scheduled, \
     c.start_time, c.end_time, c.timezone, c.next_run_at, c.opens_from, c.closes_at, c.follow_up, \
     c.max_concurrent_calls, c.ring_timeout_s, c.contact_count, c.reason, c.created_at, c.updated_at, \
     COALESCE((SELECT MIN(u.idx) FROM (\
               SELECT MIN(s.idx) AS idx FROM contact_states s \
               WHERE s.list = c.contact_list AND s.state = 'pending' AND s.attempts = 0 \
               UNION ALL SELECT MIN(a.contact_index) FROM attempts a \
               WHERE a.contact_list = c.contact_list AND a.attempt_no = 1 AND a.state IN ('queued', 'claimed') \
               UNION ALL SELECT l.next_index FROM contact_lists l \
               WHERE l.id = c.contact_list AND l.next_index < c.contact_count) u), \
              c.contact_count) AS start_index \
     FROM campaigns c";

/// Condition for the campaigns that readers see.
pub(crate) const VISIBLE: &str = "c.importing = 0 AND c.deleted_at IS NULL";

pub(crate) fn read(row: &AnyRow) -> StoreResult<CampaignRow> {
    Ok(CampaignRow {
        id: row.id("id")?,
        account: row.id("account")?,
        name: row.text("name")?,
        agent: row.id("agent")?,
        status: row.word("status", CampaignStatus::parse)?,
        version: row.int("version")?,
        active: row.flag("active")?,
        scheduled: row.flag("scheduled")?,
        schedule: ScheduleText {
            start_time: row.maybe_text("start_time")?,
            end_time: row.maybe_text("end_time")?,
            timezone: row.maybe_text("timezone")?,
        },
        next_run_at: row.maybe_time("next_run_at")?,
        opens_from: row.maybe_time("opens_from")?,
        closes_at: row.maybe_time("closes_at")?,
        follow_up: row.json("follow_up")?,
        options: options(row)?,
        contact_count: row.int("contact_count")?,
        start_index: row.int("start_index")?,
        reason: row.maybe_text("reason")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn options(row: &AnyRow) -> StoreResult<CampaignOptions> {
    let mut given = Map::new();
    for (column, name) in OPTIONS {
        if let Some(value) = row.maybe_int(column)? {
            given.insert(name.to_owned(), value.into());
        }
    }
    serde_json::from_value(given.into()).map_err(|error| StoreError::Damaged(format!("options of a campaign: {error}")))
}

/// Replaces the options of a campaign or import.
pub(crate) async fn set_options(work: &mut Work<'_>, id: CampaignId, options: CampaignOptions) -> StoreResult<()> {
    let values = serde_json::to_value(options).map_err(|error| StoreError::Damaged(error.to_string()))?;
    let columns = OPTIONS
        .iter()
        .enumerate()
        .map(|(index, (column, _))| format!("{column} = ${}", index + 2));
    let sql = format!(
        "UPDATE campaigns SET {} WHERE id = $1",
        columns.collect::<Vec<_>>().join(", ")
    );
    let update = composed(sql).bind(id.to_string());
    let update = OPTIONS
        .iter()
        .fold(update, |update, (_, name)| update.bind(values[*name].as_i64()));
    affected(update, work.conn).await.map(drop)
}

pub(crate) async fn get(work: &mut Work<'_>, id: CampaignId) -> StoreResult<CampaignRow> {
    let query = composed(format!("{SELECT} WHERE c.id = $1 AND {VISIBLE}")).bind(id.to_string());
    let row = query.existing(&mut *work.conn).await?;
    read(&row)
}

/// Returns the contact list of a visible campaign and its number of contacts. Returns `NotFound` if there is
/// no such campaign.
pub(crate) async fn visible_list(work: &mut Work<'_>, id: CampaignId) -> StoreResult<(i64, i64)> {
    let query = composed(format!(
        "SELECT c.contact_list, c.contact_count FROM campaigns c WHERE c.id = $1 AND {VISIBLE}"
    ));
    let row = query.bind(id.to_string()).existing(&mut *work.conn).await?;
    Ok((row.int("contact_list")?, row.int("contact_count")?))
}

/// Changes the state of a campaign with this version, without what else a stop does. Returns `Stale`.
pub(crate) async fn set_state(
    work: &mut Work<'_>,
    id: CampaignId,
    version: i64,
    change: StateChange,
) -> StoreResult<()> {
    account_events::of_campaign(work, id, version, &change).await?;
    let query = composed(format!(
        "UPDATE campaigns AS c SET status = $1, active = $2, scheduled = $3, next_run_at = $4, reason = $5, \
         updated_at = $6, opens_from = $9, closes_at = $10, version = version + 1 \
         WHERE c.id = $7 AND c.version = $8 AND {VISIBLE}"
    ))
    .bind(change.status.as_str())
    .bind(i64::from(change.active))
    .bind(i64::from(change.scheduled))
    .bind(change.next_run_at.map(|at| at.0))
    .bind(change.reason)
    .bind(work.now.0)
    .bind(id.to_string())
    .bind(version)
    .bind(change.opens_from.map(|at| at.0))
    .bind(change.closes_at.map(|at| at.0));
    if affected(query, &mut *work.conn).await? == 0 {
        return visible_list(work, id).await.and(Err(StoreError::Stale));
    }
    Ok(())
}

/// Makes campaigns that dial or wait for their time check again what is left to do. A further condition
/// selects them; its values start at `$2`, and `$1` is the present instant. A campaign's own node notices the
/// new version, and a node that has just counted finds the row changed.
pub(crate) const LOOK_AGAIN: &str = "UPDATE campaigns SET version = version + 1, updated_at = $1, \
     next_run_at = CASE WHEN status = 'waiting' THEN $1 ELSE next_run_at END \
     WHERE status IN ('waiting', 'running') AND deleted_at IS NULL";
