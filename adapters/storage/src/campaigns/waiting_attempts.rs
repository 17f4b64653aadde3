//! Attempts of a campaign that wait for their time: moved to another agent, cancelled by a stop.

use domain::{
    id::{AgentId, CampaignId},
    ports::store::StoreResult,
};

use super::contact_states::{self, ContactKey, ContactState};
use crate::{
    engine::{
        Work,
        rows::{Columns, Fetch, affected, composed},
    },
    events::attempt_ends,
};

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
    let gone = gone.bind(campaign.to_string()).all(&mut *work.conn).await?;
    for row in gone {
        contact_states::set_untried(work, ContactKey::read(&row)?).await?;
    }
    let ended = composed(format!(
        "UPDATE attempts SET state = 'final', status = 'cancelled', ended_at = $2 \
         WHERE state = 'queued' AND id IN {QUEUED} RETURNING id, contact_list, contact_index"
    ));
    let ended = ended.bind(campaign.to_string()).bind(work.now.0);
    for row in ended.all(&mut *work.conn).await? {
        contact_states::set(work, ContactKey::read(&row)?, ContactState::Cancelled, false).await?;
        attempt_ends::ended_unsent(work, row.id("id")?).await?;
    }
    Ok(())
}
