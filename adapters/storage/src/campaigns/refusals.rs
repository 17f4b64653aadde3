//! A campaign's refusals in a row for a reason that the service does not know, counted for all nodes.

use domain::{
    id::{AttemptId, CampaignId},
    ports::store::{Outcome, REFUSALS_IN_A_ROW, StoreError, StoreResult},
};

use super::campaign_rows;
use crate::engine::{
    Work,
    rows::{Columns, Fetch, affected},
};

/// Counts a refusal of the kind `$2`. A refusal for a known reason has no kind and is counted only once the campaign tries
/// single contacts. Refusals of calls that were dialed before that are not counted.
const COUNT: &str = "UPDATE campaigns SET refusal_kind = COALESCE(CAST($2 AS TEXT), refusal_kind), \
     refusals = CASE WHEN refusals >= $3 OR refusal_kind = CAST($2 AS TEXT) THEN refusals + 1 ELSE 1 END \
     WHERE id = (SELECT campaign FROM attempts WHERE id = $1) AND deleted_at IS NULL \
     AND CASE WHEN refusals >= $3 THEN status = 'running' ELSE CAST($2 AS TEXT) IS NOT NULL END RETURNING id, refusals";

/// Finds out whether an attempt was refused that was dialed before its campaign began to wait.
const WAITS: &str = "SELECT a.id FROM attempts a JOIN campaigns c ON c.id = a.campaign \
     WHERE a.id = $1 AND a.state = 'dialing' AND c.refusals >= $2 AND c.status <> 'running'";

/// Counts an outcome. After the third refusal of a kind in a row the campaign is delayed. Returns `Stale` if it
/// waits already, so that the contact is not used up.
pub(crate) async fn count(work: &mut Work<'_>, attempt: AttemptId, outcome: &Outcome) -> StoreResult<()> {
    if outcome.got_through() {
        return got_through(work, attempt).await;
    }
    if !outcome.is_refused() {
        return Ok(());
    }
    let query = sqlx::query(COUNT).bind(attempt.to_string());
    let query = query.bind(outcome.refusal.clone()).bind(REFUSALS_IN_A_ROW);
    let row = query.optional(&mut *work.conn).await?;
    let Some(row) = row else {
        let query = sqlx::query(WAITS).bind(attempt.to_string()).bind(REFUSALS_IN_A_ROW);
        let waits = query.optional(&mut *work.conn).await?;
        let spared = outcome.refusal.is_some() && waits.is_some();
        return if spared { Err(StoreError::Stale) } else { Ok(()) };
    };
    let campaign: CampaignId = row.id("id")?;
    let campaign = campaign_rows::get(work, campaign).await?;
    match campaign.after_refusals(row.int("refusals")?, outcome, work.now) {
        Some(change) => campaign_rows::set_state(work, campaign.id, campaign.version, change).await,
        None => Ok(()),
    }
}

/// Ends the count, since a call got through.
pub(crate) async fn got_through(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<()> {
    let update = "UPDATE campaigns SET refusals = 0, refusal_kind = NULL \
         WHERE refusals > 0 AND id = (SELECT campaign FROM attempts WHERE id = $1)";
    let update = sqlx::query(update).bind(attempt.to_string());
    affected(update, &mut *work.conn).await.map(drop)
}
