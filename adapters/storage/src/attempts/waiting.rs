//! The next attempt of a contact, planned with the outcome of the one before.

use domain::{
    id::AttemptId,
    ports::store::{NextAttempt, StoreResult},
};

use crate::{
    attempts::{
        attempt_guard::{Held, tries},
        calls,
    },
    campaigns::contact_states,
    engine::{Work, rows::affected},
};

/// Plans the attempt after `ended` and sets its contact pending again. The campaign must not have been stopped
/// meanwhile.
pub(super) async fn plan_next(work: &mut Work<'_>, ended: &Held, id: AttemptId, next: NextAttempt) -> StoreResult<()> {
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
