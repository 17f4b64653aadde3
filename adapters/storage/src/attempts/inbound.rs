//! Calls from outside: the agent that answers a number, and the single attempt of each leg.

use async_trait::async_trait;
use domain::{
    dial_token::DialToken,
    id::{AccountId, NodeId},
    phone_number::PhoneNumber,
    ports::store::{
        AccountEventType, AgentRow, AttemptKind, CREATED, CalleeRecord, CampaignContact, Claim, ClaimedAttempt,
        InboundStore, NewInboundCall, ReceivedCall, StoreError, StoreResult, Tries,
    },
};
use serde_json::{Map, Value};

use super::{calls, test_calls};
use crate::{
    accounts::idempotency,
    agents,
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Fetch, to_json, unique},
    },
    events::account_events,
};

#[async_trait]
impl InboundStore for SqlStore {
    async fn answering_agent(&self, number: &PhoneNumber) -> StoreResult<Option<AgentRow>> {
        let number = number.clone();
        self.read(move |work| Box::pin(answering(work, number))).await
    }

    async fn receive_call(&self, node: NodeId, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>> {
        self.write(move |work| Box::pin(receive(work, node, new))).await
    }
}

async fn answering(work: Work<'_>, number: PhoneNumber) -> StoreResult<Option<AgentRow>> {
    let query = sqlx::query(
        "SELECT g.id, g.account, g.document, g.version, g.created_at, g.updated_at \
         FROM agent_numbers n JOIN agents g ON g.id = n.agent \
         WHERE n.phone_number = $1 AND n.answered = 1 AND g.deleted_at IS NULL",
    );
    let row = query.bind(String::from(number)).optional(work.conn).await?;
    row.as_ref().map(agents::read).transpose()
}

async fn receive(mut work: Work<'_>, node: NodeId, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>> {
    locks::before_call(&mut work, new.account).await?;
    require_live(&mut work, node).await?;
    let token = DialToken::random();
    let unsaved = test_calls::add_unsaved(&mut work, &new).await?;
    let attempt = claimed(&mut work, node, &new).await?;
    let kept = CalleeRecord::of(&attempt);
    // The number may have moved to another agent since it was looked up.
    let insert = sqlx::query(
        "INSERT INTO attempts (id, account, agent, attempt_no, kind, phone_number, state, owner, epoch, dial_token, due_at, \
         started_at, dialing_at, carrier, carrier_call, caller_id, status, voicemail, transferred, collected, created_at, \
         agent_version, contact_name, variables) \
         SELECT $1, g.account, g.id, 1, $2, $3, 'dialed', $4, 1, $5, $6, $6, $6, $7, $8, n.phone_number, 'in_progress', \
         0, 0, '{}', $6, $13, $15, $16 FROM agents g LEFT JOIN agent_numbers n ON n.agent = g.id AND n.phone_number = $9 AND n.answered = 1 \
         WHERE g.id = $10 AND g.account = $11 AND (g.deleted_at IS NULL OR $14 = 1) AND (n.phone_number IS NOT NULL OR $9 = $12)",
    )
    .bind(new.attempt.to_string())
    .bind(AttemptKind::Inbound.as_str())
    .bind(new.from.as_str().to_owned())
    .bind(node.to_string())
    .bind(token.as_stored().to_owned())
    .bind(work.now.0)
    .bind(new.carrier.clone())
    .bind(new.call.0.clone())
    .bind(new.to.as_str().to_owned())
    .bind(new.agent.to_string())
    .bind(new.account.to_string())
    .bind(PhoneNumber::withheld().as_str().to_owned())
    .bind(new.agent_version)
    .bind(i64::from(unsaved))
    .bind(kept.contact_name)
    .bind(to_json(&kept.variables)?);
    let inserted = insert.execute(&mut *work.conn).await.map_err(unique("call"))?;
    if inserted.rows_affected() == 0 {
        return Ok(None);
    }
    let id = new.attempt.to_string();
    test_calls::note(&mut work, &new).await?;
    calls::keep_variables(&mut work, new.attempt, &new.variables).await?;
    idempotency::settle(&mut work, new.ticket.as_ref(), CREATED, &id).await?;
    account_events::of_call(&mut work, new.attempt, AccountEventType::CallStarted).await?;
    let test = new.test.as_ref().map(|test| test.actions);
    Ok(Some(ReceivedCall { attempt, token, test }))
}

/// Requires that the node counts as live; otherwise it would lose the call to another process at once.
pub(crate) async fn require_live(work: &mut Work<'_>, node: NodeId) -> StoreResult<()> {
    let query = sqlx::query("SELECT id FROM nodes WHERE id = $1 AND state = 'live'");
    let row = query.bind(node.to_string()).optional(&mut *work.conn).await?;
    row.map(drop).ok_or(StoreError::Fenced)
}

/// Returns the saved contact of a caller's number with its further fields.
pub(crate) async fn caller(
    work: &mut Work<'_>,
    account: AccountId,
    number: PhoneNumber,
) -> StoreResult<(CampaignContact, Map<String, Value>)> {
    let query = sqlx::query("SELECT id, name, email, extra FROM contacts WHERE account = $1 AND phone_number = $2")
        .bind(account.to_string())
        .bind(number.as_str().to_owned());
    let saved = query.optional(&mut *work.conn).await?;
    let mut contact = CampaignContact {
        phone_number: number,
        contact: None,
        name: None,
        email: None,
        extra: Map::new(),
    };
    let mut saved_extra = Map::new();
    if let Some(saved) = saved {
        contact.contact = Some(saved.id("id")?);
        contact.name = saved.maybe_text("name")?;
        contact.email = saved.maybe_text("email")?;
        saved_extra = saved.json("extra")?;
    }
    Ok((contact, saved_extra))
}

/// Builds the new attempt with the saved contact of its number.
async fn claimed(work: &mut Work<'_>, node: NodeId, new: &NewInboundCall) -> StoreResult<ClaimedAttempt> {
    let (contact, saved_extra) = caller(work, new.account, new.from.clone()).await?;
    Ok(ClaimedAttempt {
        claim: Claim {
            attempt: new.attempt,
            owner: node,
            epoch: 1,
        },
        account: new.account,
        campaign: None,
        agent: new.agent,
        contact_index: 0,
        attempt_no: 1,
        tries: Tries::default(),
        contact,
        saved_extra,
        variables: new.variables.clone(),
    })
}
