//! Recovery of the attempts that dead processes held.

use domain::{
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptState, CallDirection, Claim, OrphanedAttempt, Patience, StoreError, StoreResult, TRANSFER_FAILED,
            TRANSFER_TAKEN,
        },
    },
    time::Timestamp,
};

use sqlx::any::AnyRow;

use super::steps;
use crate::{
    attempts::attempt_guard::{Guarded, SENT, tries},
    engine::liveness::{Liveness, declare_silent_dead},
    engine::{
        Work,
        rows::{Columns, Fetch, composed},
    },
};

pub(super) async fn take(
    mut work: Work<'_>,
    node: NodeId,
    liveness: Liveness,
    patience: Patience,
) -> StoreResult<Vec<OrphanedAttempt>> {
    let now = declare_silent_dead(&mut work, node, &liveness).await?;
    let skip_locked = work.dialect.skip_locked;
    let query = composed(format!(
        "SELECT id, owner, epoch, state, carrier, (SELECT n.seen_at FROM nodes n WHERE n.id = owner) AS seen_at, \
         (SELECT j.name FROM journal j WHERE j.attempt = attempts.id AND j.name IN ('{TRANSFER_TAKEN}', '{TRANSFER_FAILED}') \
          ORDER BY j.id DESC LIMIT 1) AS handed_on \
         FROM attempts \
         WHERE state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown') AND owner <> $1 \
         AND owner NOT IN (SELECT n.id FROM nodes n WHERE n.state = 'live'){skip_locked}"
    ));
    let rows = query.bind(node.to_string()).all(&mut *work.conn).await?;
    let mut orphaned = Vec::new();
    for row in rows {
        let dead = Claim {
            attempt: row.id("id")?,
            owner: row.id("owner")?,
            epoch: row.int("epoch")?,
        };
        match row.word("state", AttemptState::parse)? {
            AttemptState::Claimed => steps::give_back(&mut work, dead).await?,
            AttemptState::Answered if is_waited_for(&row, &patience, now)? => {}
            _ => orphaned.push(take_one(&mut work, dead, node).await?),
        }
    }
    orphaned.sort_by_key(|orphaned| orphaned.claim.attempt);
    Ok(orphaned)
}

/// Returns whether the carrier may still bring the call to a living node.
fn is_waited_for(row: &AnyRow, patience: &Patience, now: Timestamp) -> StoreResult<bool> {
    let carrier = row.maybe_text("carrier")?.unwrap_or_default();
    let is_handed_on = row.maybe_text("handed_on")?.as_deref() == Some(TRANSFER_TAKEN);
    // A last sign of life in the future comes from another clock.
    let seen_at = row.maybe_time("seen_at")?.filter(|seen| *seen <= now);
    let silent = seen_at.map(|seen| now.since(seen));
    Ok(patience.waits(&carrier, is_handed_on, silent))
}

/// Changes the owner under the dead owner's claim, so the owner cannot have come back meanwhile.
async fn take_one(work: &mut Work<'_>, dead: Claim, node: NodeId) -> StoreResult<OrphanedAttempt> {
    let update = Guarded::update(dead, "owner = $4, epoch = epoch + 1", SENT);
    let held = update.run(work, |query| query.bind(node.to_string())).await?;
    left(&held.row, dead.attempt, node)
}

fn left(row: &AnyRow, attempt: AttemptId, node: NodeId) -> StoreResult<OrphanedAttempt> {
    let missing = |what: &str| StoreError::Damaged(format!("attempt {attempt} was sent and has no {what}"));
    Ok(OrphanedAttempt {
        claim: Claim {
            attempt,
            owner: node,
            epoch: row.int("epoch")?,
        },
        account: row.id("account")?,
        agent: row.id("agent")?,
        campaign: row.maybe_id::<CampaignId>("campaign")?,
        tries: tries(row)?,
        direction: CallDirection::of_kind(&row.text("kind")?),
        state: row.word("state", AttemptState::parse)?,
        phone_number: row.number("phone_number")?,
        carrier: row.maybe_text("carrier")?.ok_or_else(|| missing("carrier"))?,
        carrier_call: row.maybe_text("carrier_call")?.map(CarrierCallId),
        dialing_at: row.maybe_time("dialing_at")?.ok_or_else(|| missing("dial time"))?,
    })
}

/// Most unsettled attempts returned at once.
const UNSETTLED: i64 = 1_000;

/// Returns attempts of `node` that may have been sent at least this long ago and are not over. The list of
/// states makes the query use the small index of held attempts.
pub(super) async fn unsettled(work: Work<'_>, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<OrphanedAttempt>> {
    let rows = sqlx::query(
        "SELECT id, account, agent, campaign, follow_up_no, retry_no, call_backs, kind, phone_number, state, epoch, \
         carrier, carrier_call, dialing_at FROM attempts \
         WHERE owner = $1 AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown') AND state <> 'claimed' \
         AND dialing_at <= $2 ORDER BY dialing_at, id LIMIT $3",
    )
    .bind(node.to_string())
    .bind(work.now.0 - older_than_ms * 1_000)
    .bind(UNSETTLED)
    .all(work.conn)
    .await?;
    rows.iter().map(|row| left(row, row.id("id")?, node)).collect()
}
