//! Claiming: due attempts first, then contacts that have none.

use actors::{
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    ports::store::{Claim, ClaimedAttempt, Remaining, StoreError, StoreResult},
};

use sqlx::any::AnyRow;

use crate::storage::{
    Work,
    campaign_contacts::{self, COLUMNS, SAVED_EXTRA},
    rows::{Columns, ROWS_PER_INSERT, affected, composed, insert_rows, unavailable},
};

/// A running campaign that is being claimed from.
struct Source {
    node: NodeId,
    campaign: CampaignId,
    account: AccountId,
    agent: AgentId,
}

pub(super) async fn claim(
    mut work: Work<'_>,
    node: NodeId,
    campaign: CampaignId,
    limit: i64,
) -> StoreResult<Vec<ClaimedAttempt>> {
    let row = sqlx::query(
        "SELECT account, agent FROM campaigns WHERE id = $1 AND status = 'running' AND importing = 0 \
         AND deleted_at IS NULL",
    )
    .bind(campaign.to_string())
    .fetch_optional(&mut *work.conn)
    .await
    .map_err(unavailable)?;
    let Some(row) = row else { return Ok(Vec::new()) };
    let source = Source {
        node,
        campaign,
        account: row.id("account")?,
        agent: row.id("agent")?,
    };
    let mut claimed = claim_due(&mut work, &source, limit).await?;
    let room = limit - claimed.len() as i64;
    claimed.extend(claim_untried(&mut work, &source, room).await?);
    Ok(claimed)
}

async fn claim_due(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
    let skip_locked = work.dialect.skip_locked;
    // The outer WHERE repeats the tests: on PostgreSQL the inner one may have seen an older row.
    let query = composed(format!(
        "UPDATE attempts SET state = 'claimed', owner = $1, epoch = epoch + 1, claimed_at = $3 \
         WHERE state = 'queued' AND EXISTS (SELECT 1 FROM campaigns c WHERE c.id = $2 AND c.status = 'running') \
         AND id IN (SELECT id FROM attempts WHERE campaign = $2 AND state = 'queued' AND due_at <= $3 \
                    ORDER BY due_at, id LIMIT $4{skip_locked}) \
         RETURNING id, agent, contact_index, attempt_no, epoch, due_at"
    ))
    .bind(source.node.to_string())
    .bind(source.campaign.to_string())
    .bind(work.now.0)
    .bind(limit.max(0));
    let mut rows = query.fetch_all(&mut *work.conn).await.map_err(unavailable)?;
    // The order of RETURNING is the database's own.
    rows.sort_by_cached_key(|row| (row.int("due_at").ok(), row.text("id").ok()));
    let mut claimed = Vec::with_capacity(rows.len());
    for row in rows {
        let index = row.int("contact_index")?;
        let contact = take_contact(work, source, index).await?;
        claimed.push(ClaimedAttempt {
            claim: Claim {
                attempt: row.id("id")?,
                owner: source.node,
                epoch: row.int("epoch")?,
            },
            account: source.account,
            campaign: source.campaign,
            agent: row.id("agent")?,
            contact_index: index,
            attempt_no: row.int("attempt_no")?,
            contact: campaign_contacts::read(&contact)?,
            saved_extra: campaign_contacts::read_saved_extra(&contact)?,
        });
    }
    Ok(claimed)
}

async fn take_contact(work: &mut Work<'_>, source: &Source, index: i64) -> StoreResult<AnyRow> {
    let update = sqlx::query("UPDATE campaign_contacts SET state = 'in_progress' WHERE campaign = $1 AND idx = $2");
    let update = update.bind(source.campaign.to_string()).bind(index);
    affected(update, work.conn).await?;
    let query = composed(format!(
        "SELECT {COLUMNS}, {SAVED_EXTRA} FROM campaign_contacts cc JOIN campaigns c ON c.id = cc.campaign \
         WHERE cc.campaign = $1 AND cc.idx = $2"
    ));
    let row = query.bind(source.campaign.to_string()).bind(index);
    row.fetch_one(&mut *work.conn).await.map_err(unavailable)
}

async fn claim_untried(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
    if limit <= 0 {
        return Ok(Vec::new());
    }
    let skip_locked = work.dialect.skip_locked;
    let select = composed(format!(
        "SELECT {COLUMNS}, {SAVED_EXTRA} FROM campaign_contacts cc JOIN campaigns c ON c.id = cc.campaign \
         WHERE cc.campaign = $1 AND c.status = 'running' AND cc.state = 'pending' AND cc.attempts = 0 AND cc.idx IN \
         (SELECT idx FROM campaign_contacts WHERE campaign = $1 AND state = 'pending' AND attempts = 0 \
          ORDER BY idx LIMIT $2{skip_locked}) ORDER BY cc.idx"
    ));
    let select = select.bind(source.campaign.to_string()).bind(limit);
    let rows = select.fetch_all(&mut *work.conn).await.map_err(unavailable)?;
    let mut claimed = Vec::with_capacity(rows.len());
    for row in &rows {
        claimed.push(ClaimedAttempt {
            claim: Claim {
                attempt: AttemptId::new(),
                owner: source.node,
                epoch: 1,
            },
            account: source.account,
            campaign: source.campaign,
            agent: source.agent,
            contact_index: row.int("idx")?,
            attempt_no: 1,
            contact: campaign_contacts::read(row)?,
            saved_extra: campaign_contacts::read_saved_extra(row)?,
        });
    }
    for chunk in claimed.chunks(ROWS_PER_INSERT) {
        insert_claimed(work, chunk).await?;
        mark_claimed(work, source, chunk).await?;
    }
    Ok(claimed)
}

async fn insert_claimed(work: &mut Work<'_>, claimed: &[ClaimedAttempt]) -> StoreResult<()> {
    let mut insert = insert_rows(
        "INSERT INTO attempts (id, account, agent, campaign, contact_index, attempt_no, kind, phone_number, state, \
         owner, epoch, claimed_at, due_at, started_at, status, voicemail, transferred, collected, created_at) VALUES",
        claimed.len(),
        19,
        "",
    );
    for attempt in claimed {
        insert = insert
            .bind(attempt.claim.attempt.to_string())
            .bind(attempt.account.to_string())
            .bind(attempt.agent.to_string())
            .bind(attempt.campaign.to_string())
            .bind(attempt.contact_index)
            .bind(attempt.attempt_no)
            .bind("first")
            .bind(attempt.contact.phone_number.as_str().to_owned())
            .bind("claimed")
            .bind(attempt.claim.owner.to_string())
            .bind(attempt.claim.epoch)
            .bind(work.now.0)
            .bind(work.now.0)
            .bind(work.now.0)
            .bind("scheduled")
            .bind(0_i64)
            .bind(0_i64)
            .bind("{}")
            .bind(work.now.0);
    }
    affected(insert, work.conn).await.map(drop)
}

async fn mark_claimed(work: &mut Work<'_>, source: &Source, claimed: &[ClaimedAttempt]) -> StoreResult<()> {
    let places: Vec<String> = (2..claimed.len() + 2).map(|place| format!("${place}")).collect();
    let mut update = composed(format!(
        "UPDATE campaign_contacts SET state = 'in_progress', attempts = 1 \
         WHERE campaign = $1 AND state = 'pending' AND attempts = 0 AND idx IN ({})",
        places.join(",")
    ))
    .bind(source.campaign.to_string());
    for attempt in claimed {
        update = update.bind(attempt.contact_index);
    }
    match affected(update, work.conn).await? {
        marked if marked == claimed.len() as u64 => Ok(()),
        _ => Err(StoreError::Stale),
    }
}

/// Most claims that are given out as stale at once.
const STALE: i64 = 1_000;

/// Claims of `node` that have waited for their permit for so long. The list of states lets the small index of what is
/// held answer.
pub(super) async fn stale(work: Work<'_>, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>> {
    let rows = sqlx::query(
        "SELECT id, epoch FROM attempts \
         WHERE owner = $1 AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown') AND state = 'claimed' \
         AND claimed_at <= $2 ORDER BY claimed_at, id LIMIT $3",
    )
    .bind(node.to_string())
    .bind(work.now.0 - older_than_ms * 1_000)
    .bind(STALE)
    .fetch_all(work.conn)
    .await
    .map_err(unavailable)?;
    let claim = |row: &AnyRow| {
        Ok(Claim {
            attempt: row.id("id")?,
            owner: node,
            epoch: row.int("epoch")?,
        })
    };
    rows.iter().map(claim).collect()
}

pub(super) async fn remaining(work: Work<'_>, campaign: CampaignId) -> StoreResult<Remaining> {
    let row = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM campaign_contacts WHERE campaign = $1 AND state = 'pending' AND attempts = 0) \
         AS untried, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at <= $2) AS due, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at > $2) AS later, \
         (SELECT MIN(due_at) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at > $2) AS next_due, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 \
          AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown')) AS open \
         FROM campaigns WHERE id = $1 AND importing = 0 AND deleted_at IS NULL",
    )
    .bind(campaign.to_string())
    .bind(work.now.0)
    .fetch_optional(work.conn)
    .await
    .map_err(unavailable)?;
    let row = row.ok_or(StoreError::NotFound)?;
    Ok(Remaining {
        due: row.int("untried")? + row.int("due")?,
        later: row.int("later")?,
        next_due: row.maybe_time("next_due")?,
        open: row.int("open")?,
    })
}
