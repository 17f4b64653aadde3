//! Attempts that wait for their time: planned with an outcome, moved to another agent, cancelled by a stop.

use domain::{
    id::{AgentId, AttemptId, CampaignId},
    ports::store::{NextAttempt, StoreResult},
};

use super::steps;
use crate::{
    attempts::{
        attempt_ends,
        attempt_guard::{Held, tries},
        calls,
    },
    campaigns::contact_states::{self, ContactKey, ContactState},
    engine::{
        Work,
        rows::{Columns, affected, composed, unavailable},
    },
};

/// Plans the attempt after `ended` and sets its contact pending again. Does nothing if the campaign was
/// stopped meanwhile.
pub(super) async fn plan_next(work: &mut Work<'_>, ended: &Held, id: AttemptId, next: NextAttempt) -> StoreResult<()> {
    if steps::standing(work, id).await?.stopped {
        return Ok(());
    }
    let (planned, tries) = (AttemptId::new(), tries(&ended.row)?.next(next.kind));
    // Use the agent that the campaign has now.
    let insert = sqlx::query(
        "INSERT INTO attempts (id, account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, \
         retry_no, call_backs, kind, phone_number, state, epoch, due_at, started_at, status, voicemail, transferred, \
         collected, created_at) \
         SELECT $2, a.account, COALESCE(c.agent, a.agent), a.campaign, a.contact_list, a.contact_index, a.attempt_no + 1, \
         $3, $4, $8, $5, a.phone_number, 'queued', 0, $6, $6, 'scheduled', 0, 0, '{}', $7 \
         FROM attempts a LEFT JOIN campaigns c ON c.id = a.campaign WHERE a.id = $1 ON CONFLICT DO NOTHING",
    )
    .bind(id.to_string())
    .bind(planned.to_string())
    .bind(tries.follow_up)
    .bind(tries.retry)
    .bind(next.kind.as_str())
    .bind(next.due_at.0)
    .bind(work.now.0)
    .bind(tries.call_backs);
    if affected(insert, work.conn).await? == 0 {
        // It exists already: a dial that the database had forgotten was written again.
        return Ok(());
    }
    calls::continue_as(work, id, planned, next.due_at).await?;
    contact_states::add_attempt(work, ended.contact).await
}

/// Moves the waiting attempts of a campaign to another agent.
pub(crate) async fn hand_waiting_to(work: &mut Work<'_>, campaign: CampaignId, agent: AgentId) -> StoreResult<()> {
    let update = composed(format!(
        "UPDATE attempts SET agent = $2 WHERE state = 'queued' AND id IN {QUEUED}"
    ));
    let update = update.bind(campaign.to_string()).bind(agent.to_string());
    affected(update, work.conn).await.map(drop)
}

/// Subquery for the queued attempts of campaign `$1`, written so that it uses their own small index.
const QUEUED: &str = "(SELECT id FROM attempts WHERE campaign = $1 AND state = 'queued' ORDER BY due_at, id)";

/// Cancels waiting attempts when the campaign stops. Queued attempts of contacts that were dialed before end
/// as `cancelled`; first attempts are deleted.
pub(crate) async fn cancel_waiting(work: &mut Work<'_>, campaign: CampaignId) -> StoreResult<()> {
    let gone = composed(format!(
        "DELETE FROM attempts WHERE state = 'queued' AND attempt_no = 1 AND id IN {QUEUED} \
         RETURNING contact_list, contact_index"
    ));
    let gone = gone.bind(campaign.to_string()).fetch_all(&mut *work.conn).await;
    for row in gone.map_err(unavailable)? {
        contact_states::set_untried(work, ContactKey::read(&row)?).await?;
    }
    let ended = composed(format!(
        "UPDATE attempts SET state = 'final', status = 'cancelled', ended_at = $2 \
         WHERE state = 'queued' AND id IN {QUEUED} RETURNING id, contact_list, contact_index"
    ));
    let ended = ended.bind(campaign.to_string()).bind(work.now.0);
    for row in ended.fetch_all(&mut *work.conn).await.map_err(unavailable)? {
        contact_states::set(work, ContactKey::read(&row)?, ContactState::Cancelled, false).await?;
        attempt_ends::ended_unsent(work, row.id("id")?).await?;
    }
    Ok(())
}
