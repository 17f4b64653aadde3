//! Single calls: queued, claimed, or ended after waiting too long. Also cancels any waiting attempt.

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, NodeId},
    ports::store::{
        AttemptState, CREATED, CallStore, CampaignContact, Claim, ClaimedAttempt, DIAL_CALL_WITHIN, KeyTicket,
        NOT_DIALED_IN_TIME, NOT_DIALED_SINCE, NewCall, QueuedCall, StoreError, StoreResult, WaitingCalls,
    },
    time::Timestamp,
};
use serde_json::{Map, Value};
use sqlx::any::AnyRow;

use super::attempt_guard::tries;
use crate::{
    accounts::idempotency,
    callee,
    campaigns::{
        campaign_rows::LOOK_AGAIN,
        contact_states::{self, ContactKey, ContactState},
    },
    contacts::do_not_call,
    conversations,
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Fetch, affected, composed, to_json},
    },
    events::attempt_ends::ended_unsent,
};

/// The single calls that wait, written so that the query uses their own small index.
const WAITING: &str = "FROM attempts a JOIN single_calls s ON s.attempt = a.id \
     WHERE a.campaign IS NULL AND a.state = 'queued'";

#[async_trait]
impl CallStore for SqlStore {
    async fn create_call(
        &self,
        account: AccountId,
        new: NewCall,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<QueuedCall> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(create(work, account, new, ticket)))
            .await
    }

    async fn waiting_calls(&self) -> StoreResult<WaitingCalls> {
        self.read(|work| Box::pin(waiting(work))).await
    }

    async fn claim_calls(&self, node: NodeId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
        self.write_compared(move |work| Box::pin(claim(work, node, limit)))
            .await
    }

    async fn expire_calls(&self) -> StoreResult<u64> {
        self.write(|work| Box::pin(expire(work))).await
    }

    async fn call_variables(&self, attempt: AttemptId) -> StoreResult<Map<String, Value>> {
        self.read(move |work| Box::pin(async move { callee::given_variables(&mut { work }, attempt).await }))
            .await
    }

    async fn cancel_queued(&self, account: AccountId, attempt: AttemptId) -> StoreResult<()> {
        self.write(move |work| Box::pin(cancel(work, account, attempt))).await
    }
}

async fn create(
    mut work: Work<'_>,
    account: AccountId,
    new: NewCall,
    ticket: Option<KeyTicket>,
) -> StoreResult<QueuedCall> {
    locks::before_call(&mut work, account).await?;
    if is_not_to_be_called(&mut work, account, &new).await? {
        return Ok(QueuedCall::DoNotCall);
    }
    let id = AttemptId::new();
    let insert = sqlx::query(
        "INSERT INTO attempts (id, account, agent, attempt_no, follow_up_no, retry_no, kind, phone_number, state, epoch, due_at, started_at, \
         status, voicemail, transferred, collected, created_at) \
         SELECT $1, $2, g.id, 1, 0, 0, 'first', $4, 'queued', 0, $5, $5, 'scheduled', 0, 0, '{}', $5 \
         FROM agents g WHERE g.id = $3 AND g.account = $2 AND g.deleted_at IS NULL",
    )
    .bind(id.to_string())
    .bind(account.to_string())
    .bind(new.agent.to_string())
    .bind(new.phone_number.as_str().to_owned())
    .bind(work.now.0);
    if affected(insert, work.conn).await? == 0 {
        return Err(StoreError::NotFound);
    }
    let insert =
        sqlx::query("INSERT INTO single_calls (attempt, name, variables, dial_before) VALUES ($1, $2, $3, $4)")
            .bind(id.to_string())
            .bind(new.name)
            .bind(to_json(&new.variables)?)
            .bind(work.now.plus(DIAL_CALL_WITHIN).0);
    affected(insert, work.conn).await?;
    idempotency::settle(&mut work, ticket.as_ref(), CREATED, &id.to_string()).await?;
    let row = conversations::get(work, Some(account), id).await?;
    Ok(QueuedCall::Queued(Box::new(row)))
}

/// Keeps the values given for a call from outside, which is never dialed.
pub(crate) async fn keep_variables(
    work: &mut Work<'_>,
    attempt: AttemptId,
    variables: &Map<String, Value>,
) -> StoreResult<()> {
    if variables.is_empty() {
        return Ok(());
    }
    let insert =
        sqlx::query("INSERT INTO single_calls (attempt, name, variables, dial_before) VALUES ($1, NULL, $2, $3)")
            .bind(attempt.to_string())
            .bind(to_json(variables)?)
            .bind(work.now.0);
    affected(insert, &mut *work.conn).await.map(drop)
}

/// Copies a single call's values to its next attempt; does nothing for an attempt of a campaign.
pub(crate) async fn continue_as(
    work: &mut Work<'_>,
    ended: AttemptId,
    planned: AttemptId,
    due_at: Timestamp,
) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO single_calls (attempt, name, variables, dial_before) \
         SELECT $1, s.name, s.variables, $2 FROM single_calls s WHERE s.attempt = $3",
    )
    .bind(planned.to_string())
    .bind(due_at.plus(DIAL_CALL_WITHIN).0)
    .bind(ended.to_string());
    affected(insert, work.conn).await.map(drop)
}

async fn is_not_to_be_called(work: &mut Work<'_>, account: AccountId, new: &NewCall) -> StoreResult<bool> {
    do_not_call::holds(work, &account.to_string(), &new.phone_number).await
}

async fn waiting(work: Work<'_>) -> StoreResult<WaitingCalls> {
    let query = composed(format!(
        "SELECT CAST(COALESCE(SUM(CASE WHEN s.dial_before <= $1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS expired, \
         CAST(COALESCE(SUM(CASE WHEN s.dial_before > $1 AND a.due_at <= $1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS due, \
         MIN(CASE WHEN s.dial_before > $1 AND a.due_at > $1 THEN a.due_at END) AS next_due {WAITING}"
    ));
    let row = query.bind(work.now.0).one(work.conn).await?;
    Ok(WaitingCalls {
        due: row.int("due")?,
        next_due: row.maybe_time("next_due")?,
        expired: row.int("expired")?,
    })
}

async fn claim(mut work: Work<'_>, node: NodeId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
    let skip_locked = work.dialect.skip_locked;
    // Rows are selected once and then checked again, like for campaigns.
    let query = composed(format!(
        "WITH due AS MATERIALIZED (SELECT a.id {WAITING} AND a.due_at <= $2 AND s.dial_before > $2 \
         ORDER BY a.due_at, a.id LIMIT $3{skip_locked}) \
         UPDATE attempts SET state = 'claimed', owner = $1, epoch = epoch + 1, claimed_at = $2 \
         WHERE state = 'queued' AND id IN (SELECT id FROM due) \
         RETURNING id, account, agent, attempt_no, follow_up_no, retry_no, call_backs, epoch, due_at, phone_number"
    ))
    .bind(node.to_string())
    .bind(work.now.0)
    .bind(limit.max(0));
    let mut rows = query.all(&mut *work.conn).await?;
    // The order of RETURNING is up to the database.
    rows.sort_by_cached_key(|row| (row.int("due_at").ok(), row.text("id").ok()));
    let mut claimed = Vec::with_capacity(rows.len());
    for row in &rows {
        claimed.push(read_claimed(&mut work, node, row).await?);
    }
    Ok(claimed)
}

/// Reads the claim of a single call: its own values, and the saved contact of its number as it is now.
pub(crate) async fn read_claimed(work: &mut Work<'_>, node: NodeId, row: &AnyRow) -> StoreResult<ClaimedAttempt> {
    let query = sqlx::query(
        "SELECT s.name, s.variables, c.id AS saved, c.name AS saved_name, c.email, c.extra FROM single_calls s \
         LEFT JOIN contacts c ON c.account = $2 AND c.phone_number = $3 WHERE s.attempt = $1",
    )
    .bind(row.text("id")?)
    .bind(row.text("account")?)
    .bind(row.text("phone_number")?);
    let call = query.one(&mut *work.conn).await?;
    let (name, saved_name) = (call.maybe_text("name")?, call.maybe_text("saved_name")?);
    Ok(ClaimedAttempt {
        claim: Claim {
            attempt: row.id("id")?,
            owner: node,
            epoch: row.int("epoch")?,
        },
        account: row.id("account")?,
        campaign: None,
        agent: row.id("agent")?,
        contact_index: 0,
        attempt_no: row.int("attempt_no")?,
        tries: tries(row)?,
        contact: CampaignContact {
            phone_number: row.number("phone_number")?,
            contact: call.maybe_id("saved")?,
            name: name.or(saved_name),
            email: call.maybe_text("email")?,
            extra: Map::new(),
        },
        saved_extra: match call.maybe_text("extra")? {
            Some(_) => call.json("extra")?,
            None => Map::new(),
        },
        variables: call.json("variables")?,
    })
}

async fn expire(mut work: Work<'_>) -> StoreResult<u64> {
    let skip_locked = work.dialect.skip_locked;
    let update = composed(format!(
        "WITH late AS MATERIALIZED (SELECT a.id {WAITING} AND s.dial_before <= $1{skip_locked}) \
         UPDATE attempts SET state = 'final', status = 'failed', error = COALESCE($3 || error, $2), ended_at = $1 \
         WHERE state = 'queued' AND id IN (SELECT id FROM late) RETURNING id"
    ));
    let update = update.bind(work.now.0).bind(NOT_DIALED_IN_TIME).bind(NOT_DIALED_SINCE);
    let ended = update.all(&mut *work.conn).await?;
    for row in &ended {
        ended_unsent(&mut work, row.id("id")?).await?;
    }
    Ok(ended.len() as u64)
}

async fn cancel(mut work: Work<'_>, account: AccountId, attempt: AttemptId) -> StoreResult<()> {
    // Update the campaign first, like a stop does: with this attempt it may have nothing left to wait for.
    let look_again = composed(format!(
        "{LOOK_AGAIN} AND id = (SELECT a.campaign FROM attempts a WHERE a.id = $2 AND a.account = $3 AND a.state = 'queued')"
    ));
    let look_again = look_again.bind(work.now.0).bind(attempt.to_string());
    affected(look_again.bind(account.to_string()), &mut *work.conn).await?;
    let update = sqlx::query(
        "UPDATE attempts SET state = 'final', status = 'cancelled', error = NULL, ended_at = $3 \
         WHERE id = $1 AND account = $2 AND state = 'queued' RETURNING contact_list, contact_index",
    )
    .bind(attempt.to_string())
    .bind(account.to_string())
    .bind(work.now.0);
    let ended = update.optional(&mut *work.conn).await?;
    if let Some(row) = ended {
        let contact = ContactKey::read(&row)?;
        contact_states::set(&mut work, contact, ContactState::Cancelled, false).await?;
        return ended_unsent(&mut work, attempt).await;
    }
    let query = sqlx::query("SELECT state FROM attempts WHERE id = $1 AND account = $2")
        .bind(attempt.to_string())
        .bind(account.to_string());
    let row = query.existing(work.conn).await?;
    row.word("state", AttemptState::parse)?;
    Err(StoreError::Stale)
}
