//! Claiming: due attempts first, then contacts without an attempt.

use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    ports::store::{Claim, ClaimedAttempt, REFUSALS_IN_A_ROW, Remaining, StoreError, StoreResult, Tries},
};

use serde_json::Map;
use sqlx::any::AnyRow;

use crate::{
    attempts::attempt_guard::tries,
    campaigns::{
        campaign_contacts::{self, COLUMNS, SAVED_EXTRA},
        contact_states::{self, ContactKey},
    },
    engine::{
        Work, locks,
        rows::{AnyQuery, Columns, Fetch, ROWS_PER_INSERT, affected, composed, insert_rows, places, unavailable},
    },
};

/// A running campaign to claim from.
pub(super) struct Source {
    pub(super) node: NodeId,
    pub(super) campaign: CampaignId,
    pub(super) account: AccountId,
    agent: AgentId,
    pub(super) list: i64,
    pub(super) contacts: i64,
    most_calls: Option<i64>,
}

/// Locks a campaign until the end of the transaction, so that whoever stops it afterwards sees the claims made in it.
/// None if it does not run.
pub(super) async fn locked_source(
    work: &mut Work<'_>,
    node: NodeId,
    campaign: CampaignId,
) -> StoreResult<Option<Source>> {
    let campaign_lock = work.dialect.campaign_lock;
    source(work, node, campaign, campaign_lock).await
}

/// Reads a campaign with a clause that locks it, or with none. None if it does not run.
pub(super) async fn source(
    work: &mut Work<'_>,
    node: NodeId,
    campaign: CampaignId,
    campaign_lock: &str,
) -> StoreResult<Option<Source>> {
    let row = composed(format!(
        "SELECT c.account, c.agent, c.contact_list, c.contact_count, c.max_concurrent_calls, c.refusals FROM campaigns c \
         WHERE c.id = $1 AND c.status = 'running' AND c.importing = 0 AND c.deleted_at IS NULL \
         AND (c.closes_at IS NULL OR c.closes_at > $2){campaign_lock}"
    ))
    .bind(campaign.to_string())
    .bind(work.now.0)
    .optional(&mut *work.conn)
.await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Source {
        node,
        campaign,
        account: row.id("account")?,
        agent: row.id("agent")?,
        list: row.int("contact_list")?,
        contacts: row.int("contact_count")?,
        // After refusals in a row, one contact is tried.
        most_calls: match row.int("refusals")? >= REFUSALS_IN_A_ROW {
            true => Some(1),
            false => row.maybe_int("max_concurrent_calls")?,
        },
    }))
}

pub(super) async fn claim(
    mut work: Work<'_>,
    node: NodeId,
    campaign: CampaignId,
    limit: i64,
) -> StoreResult<Vec<ClaimedAttempt>> {
    let Some(source) = locked_source(&mut work, node, campaign).await? else {
        return Ok(Vec::new());
    };
    let limit = match source.most_calls {
        Some(most) => limit.min(room(&mut work, campaign, most).await?),
        None => limit,
    };
    if limit <= 0 {
        return Ok(Vec::new());
    }
    let mut claimed = claim_due(&mut work, &source, limit).await?;
    let room = limit - claimed.len() as i64;
    claimed.extend(claim_untried(&mut work, &source, room).await?);
    Ok(claimed)
}

/// Returns how many more calls of a campaign may begin, counting the open ones on all nodes.
async fn room(work: &mut Work<'_>, campaign: CampaignId, most: i64) -> StoreResult<i64> {
    locks::before_claim(work, campaign).await?;
    let count = sqlx::query(
        "SELECT COUNT(*) AS open FROM attempts \
         WHERE campaign = $1 AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown')",
    );
    let row = count.bind(campaign.to_string()).one(&mut *work.conn).await?;
    Ok(most - row.int("open")?)
}

/// Update for due attempts. Materialised, `due` locks each row once and no more than `LIMIT`. The conditions
/// are repeated because `due` may have seen an older row on PostgreSQL.
const CLAIM_DUE: &str = "UPDATE attempts SET state = 'claimed', owner = $1, epoch = epoch + 1, claimed_at = $3 \
     WHERE state = 'queued' AND id IN (SELECT id FROM due) \
     RETURNING id, agent, contact_list, contact_index, attempt_no, follow_up_no, retry_no, call_backs, epoch, due_at";

async fn claim_due(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
    let skip_locked = work.dialect.skip_locked;
    let query = composed(format!(
        "WITH due AS MATERIALIZED (SELECT id FROM attempts WHERE campaign = $2 AND state = 'queued' AND due_at <= $3 \
         ORDER BY due_at, id LIMIT $4{skip_locked}) {CLAIM_DUE}"
    ))
    .bind(source.node.to_string())
    .bind(source.campaign.to_string())
    .bind(work.now.0)
    .bind(limit.max(0));
    let mut rows = query.all(&mut *work.conn).await?;
    // The order of RETURNING is up to the database.
    rows.sort_by_cached_key(|row| (row.int("due_at").ok(), row.text("id").ok()));
    let mut claimed = Vec::with_capacity(rows.len());
    for row in rows {
        let key = ContactKey::read(&row)?;
        let key = key.ok_or_else(|| StoreError::Damaged("an attempt of a campaign has no contact".to_owned()))?;
        let contact = take_contact(work, source, key).await?;
        claimed.push(ClaimedAttempt {
            claim: Claim {
                attempt: row.id("id")?,
                owner: source.node,
                epoch: row.int("epoch")?,
            },
            account: source.account,
            campaign: Some(source.campaign),
            agent: row.id("agent")?,
            contact_index: key.index,
            attempt_no: row.int("attempt_no")?,
            tries: tries(&row)?,
            contact: campaign_contacts::read(&contact)?,
            saved_extra: campaign_contacts::read_saved_extra(&contact)?,
            variables: Map::new(),
        });
    }
    Ok(claimed)
}

async fn take_contact(work: &mut Work<'_>, source: &Source, key: ContactKey) -> StoreResult<AnyRow> {
    contact_states::set_in_progress(work, key).await?;
    let query = contacts("cc.idx = $3").bind(source.campaign.to_string());
    let row = query.bind(key.list).bind(key.index).fetch_one(&mut *work.conn).await;
    row.map_err(unavailable)
}

/// Builds a query for contacts of list `$2` in campaign `$1`.
pub(super) fn contacts<'q>(which: &str) -> AnyQuery<'q> {
    composed(format!(
        "SELECT {COLUMNS}, {SAVED_EXTRA} FROM campaign_contacts cc JOIN campaigns c ON c.id = $1 \
         WHERE cc.list = $2 AND {which} ORDER BY cc.idx"
    ))
}

/// Claims contacts without attempts. Contacts whose claim was given back come before those that were never
/// claimed, because their indexes are smaller.
async fn claim_untried(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
    if limit <= 0 {
        return Ok(Vec::new());
    }
    let mut rows = take_given_back(work, source, limit).await?;
    let room = limit - rows.len() as i64;
    rows.extend(take_fresh(work, source, room).await?);
    first_attempts(work, source, &rows).await
}

/// Makes the first attempts of contacts, claimed.
pub(super) async fn first_attempts(
    work: &mut Work<'_>,
    source: &Source,
    rows: &[AnyRow],
) -> StoreResult<Vec<ClaimedAttempt>> {
    let mut claimed = Vec::with_capacity(rows.len());
    for row in rows {
        claimed.push(ClaimedAttempt {
            claim: Claim {
                attempt: AttemptId::new(),
                owner: source.node,
                epoch: 1,
            },
            account: source.account,
            campaign: Some(source.campaign),
            agent: source.agent,
            contact_index: row.int("idx")?,
            attempt_no: 1,
            tries: Tries::default(),
            contact: campaign_contacts::read(row)?,
            saved_extra: campaign_contacts::read_saved_extra(row)?,
            variables: Map::new(),
        });
    }
    for chunk in claimed.chunks(ROWS_PER_INSERT) {
        insert_claimed(work, source.list, chunk).await?;
    }
    Ok(claimed)
}

async fn take_given_back(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<AnyRow>> {
    let skip_locked = work.dialect.skip_locked;
    let select = composed(format!(
        "SELECT idx FROM contact_states WHERE list = $1 AND state = 'pending' AND attempts = 0 \
         ORDER BY idx LIMIT $2{skip_locked}"
    ));
    let found = select.bind(source.list).bind(limit).all(&mut *work.conn).await?;
    let indexes = found
        .iter()
        .map(|row| row.int("idx"))
        .collect::<StoreResult<Vec<i64>>>()?;
    let rows = take_indexes(work, source, &indexes).await?;
    match rows.len() == indexes.len() {
        true => Ok(rows),
        false => Err(StoreError::Stale),
    }
}

/// Claims those of the contacts that were given back. Nobody else has the others.
pub(super) async fn take_indexes(work: &mut Work<'_>, source: &Source, indexes: &[i64]) -> StoreResult<Vec<AnyRow>> {
    let mut rows = Vec::with_capacity(indexes.len());
    for chunk in indexes.chunks(ROWS_PER_INSERT) {
        let update = composed(format!(
            "UPDATE contact_states SET state = 'in_progress', attempts = 1 \
             WHERE list = $1 AND state = 'pending' AND attempts = 0 AND idx IN ({}) RETURNING idx",
            places(2, chunk.len())
        ));
        let update = chunk
            .iter()
            .fold(update.bind(source.list), |query, index| query.bind(*index));
        let taken = update.all(&mut *work.conn).await?;
        if taken.is_empty() {
            continue;
        }
        let select = contacts(&format!("cc.idx IN ({})", places(3, taken.len()))).bind(source.campaign.to_string());
        let mut select = select.bind(source.list);
        for row in &taken {
            select = select.bind(row.int("idx")?);
        }
        rows.extend(select.all(&mut *work.conn).await?);
    }
    Ok(rows)
}

/// Advances the list's next index, which nobody else can do meanwhile, and returns the contacts it passed.
pub(super) async fn take_fresh(work: &mut Work<'_>, source: &Source, limit: i64) -> StoreResult<Vec<AnyRow>> {
    let moved = sqlx::query(
        "UPDATE contact_lists SET next_index = next_index + $1 WHERE id = $2 AND next_index < $3 \
         AND EXISTS (SELECT 1 FROM campaigns c WHERE c.id = $4 AND c.contact_list = $2 AND c.status = 'running') \
         RETURNING next_index",
    )
    .bind(limit)
    .bind(source.list)
    .bind(source.contacts)
    .bind(source.campaign.to_string())
    .optional(&mut *work.conn)
    .await?;
    let Some(moved) = moved else { return Ok(Vec::new()) };
    let until = moved.int("next_index")?;
    let insert = sqlx::query(
        "INSERT INTO contact_states (list, idx, state, attempts, voicemail) \
         SELECT list, idx, 'in_progress', 1, 0 FROM campaign_contacts WHERE list = $1 AND idx >= $2 AND idx < $3",
    );
    let insert = insert.bind(source.list).bind(until - limit).bind(until);
    affected(insert, work.conn).await?;
    let select = contacts("cc.idx >= $3 AND cc.idx < $4").bind(source.campaign.to_string());
    let select = select.bind(source.list).bind(until - limit).bind(until);
    select.fetch_all(&mut *work.conn).await.map_err(unavailable)
}

async fn insert_claimed(work: &mut Work<'_>, list: i64, claimed: &[ClaimedAttempt]) -> StoreResult<()> {
    let mut insert = insert_rows(
        "INSERT INTO attempts (id, account, agent, campaign, contact_list, contact_index, attempt_no, kind, \
         phone_number, state, owner, epoch, claimed_at, due_at, started_at, status, voicemail, transferred, collected, \
         created_at) VALUES",
        claimed.len(),
        20,
        "",
    );
    for attempt in claimed {
        insert = insert
            .bind(attempt.claim.attempt.to_string())
            .bind(attempt.account.to_string())
            .bind(attempt.agent.to_string())
            .bind(attempt.campaign.map(|campaign| campaign.to_string()))
            .bind(list)
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

/// Most stale claims returned at once.
const STALE: i64 = 1_000;

/// Returns claims of `node` that have waited for their permit at least this long. The list of states makes
/// the query use the small index of held attempts.
pub(super) async fn stale(work: Work<'_>, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>> {
    let rows = sqlx::query(
        "SELECT id, epoch FROM attempts \
         WHERE owner = $1 AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown') AND state = 'claimed' \
         AND claimed_at <= $2 ORDER BY claimed_at, id LIMIT $3",
    )
    .bind(node.to_string())
    .bind(work.now.0 - older_than_ms * 1_000)
    .bind(STALE)
    .all(work.conn)
    .await?;
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
        "SELECT (SELECT COUNT(*) FROM contact_states s \
          WHERE s.list = c.contact_list AND s.state = 'pending' AND s.attempts = 0) AS given_back, \
         COALESCE((SELECT c.contact_count - l.next_index FROM contact_lists l \
                   WHERE l.id = c.contact_list AND l.next_index < c.contact_count), 0) AS fresh, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at <= $2) AS due, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at > $2) AS later, \
         (SELECT MIN(due_at) FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at > $2) AS next_due, \
         (SELECT COUNT(*) FROM attempts WHERE campaign = $1 \
          AND state IN ('claimed', 'dialing', 'dialed', 'answered', 'unknown')) AS open \
         FROM campaigns c WHERE c.id = $1 AND c.importing = 0 AND c.deleted_at IS NULL",
    )
    .bind(campaign.to_string())
    .bind(work.now.0)
    .existing(work.conn)
    .await?;
    Ok(Remaining {
        due: row.int("given_back")? + row.int("fresh")? + row.int("due")?,
        later: row.int("later")?,
        next_due: row.maybe_time("next_due")?,
        open: row.int("open")?,
    })
}
