//! Moves a live call to the node that its carrier brought it to.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{
    dial_token::DialToken,
    id::NodeId,
    ports::store::{
        AttemptKind, CallDirection, Claim, ClaimedAttempt, EVENTS_FOR_HEIRS, EventFact, MOST_TAKEN_OVER, ReturnStore,
        ReturnedCall, ReturningCall, StoreError, StoreResult, TAKEN_OVER,
    },
};
use serde_json::Map;
use sqlx::any::AnyRow;

use super::claim;
use crate::{
    attempts::{
        attempt_guard::{Guarded, Held, SENT, tries},
        calls, inbound,
    },
    callee,
    campaigns::campaign_contacts,
    contacts::do_not_call,
    conversations::{facts, turns},
    engine::{
        SqlStore, Work,
        rows::{Columns, Fetch, composed, to_json, unique},
    },
};

#[async_trait]
impl ReturnStore for SqlStore {
    async fn take_over(&self, node: NodeId, returning: ReturningCall) -> StoreResult<ReturnedCall> {
        let taken = self.write(move |work| Box::pin(take(work, node, returning))).await;
        taken.inspect(|_| metrics::counter!("ringback_calls_taken_over_total").increment(1))
    }

    async fn keep_collected(&self, claim: Claim, collected: BTreeMap<String, String>) -> StoreResult<()> {
        self.under_claim(self.write(move |work| Box::pin(keep(work, claim, collected))).await)
    }
}

async fn keep(mut work: Work<'_>, claim: Claim, collected: BTreeMap<String, String>) -> StoreResult<()> {
    let collected = to_json(&collected)?;
    let update = Guarded::update(claim, "collected = $4", SENT);
    update
        .run(&mut work, move |query| query.bind(collected))
        .await
        .map(drop)
}

async fn take(mut work: Work<'_>, node: NodeId, returning: ReturningCall) -> StoreResult<ReturnedCall> {
    let ReturningCall { held, carrier, call } = returning;
    inbound::require_live(&mut work, node).await?;
    let update = Guarded::update(
        held,
        "owner = $4, epoch = epoch + 1, state = 'answered', answered_at = COALESCE(answered_at, $5), \
         carrier_call = COALESCE(carrier_call, $6)",
        SENT,
    );
    let (now, leg) = (work.now.0, call.0.clone());
    let row = update
        .run_or(
            &mut work,
            move |query| query.bind(node.to_string()).bind(now).bind(leg),
            unique("call"),
        )
        .await?;
    let is = |name: &str, wanted: &str| StoreResult::Ok(row.row.maybe_text(name)?.as_deref() == Some(wanted));
    // The error rolls the change back with the savepoint.
    if !is("carrier", &carrier)? || !is("carrier_call", &call.0)? {
        return Err(StoreError::Exists("call"));
    }
    returned(&mut work, node, &row).await
}

async fn returned(work: &mut Work<'_>, node: NodeId, held: &Held) -> StoreResult<ReturnedCall> {
    let attempt = attempt_of(work, node, held).await?;
    let id = attempt.claim.attempt;
    let query = sqlx::query(
        "SELECT kind, account, phone_number, dial_token, caller_id, answered_at, collected FROM attempts WHERE id = $1",
    );
    let row = query.bind(id.to_string()).one(&mut *work.conn).await?;
    let token = row.maybe_text("dial_token")?;
    let token = token.ok_or_else(|| StoreError::Damaged(format!("attempt {id} was sent and has no token")))?;
    let answered_at = row.maybe_time("answered_at")?.unwrap_or(work.now);
    let elapsed_ms = ((work.now.0 - answered_at.0) / 1_000).max(0);
    let opted_out = do_not_call::holds(work, &row.text("account")?, &row.number("phone_number")?).await?;
    let turns = turns::of(work.again(), id).await?;
    let events = events(work, held).await?;
    let taken = events.iter().filter(|event| event.name == TAKEN_OVER).count();
    if taken >= MOST_TAKEN_OVER {
        return Err(StoreError::Exists("heirs"));
    }
    let told = EventFact {
        name: TAKEN_OVER.to_owned(),
        at_ms: elapsed_ms,
        detail: "{}".to_owned(),
    };
    facts::append_events(work, &[(id, told)]).await?;
    Ok(ReturnedCall {
        direction: CallDirection::of_kind(&row.text("kind")?),
        token: DialToken::from_stored(token),
        caller_id: match row.maybe_text("caller_id")? {
            Some(_) => Some(row.number("caller_id")?),
            None => None,
        },
        elapsed_ms,
        turns,
        events,
        collected: row.json("collected")?,
        opted_out,
        attempt,
    })
}

async fn events(work: &mut Work<'_>, held: &Held) -> StoreResult<Vec<EventFact>> {
    let names: Vec<String> = EVENTS_FOR_HEIRS.iter().map(|name| format!("'{name}'")).collect();
    let query = composed(format!(
        "SELECT name, at_ms, detail FROM journal WHERE attempt = $1 AND name IN ({}) ORDER BY id",
        names.join(", ")
    ));
    let rows = query.bind(held.row.text("id")?).all(&mut *work.conn).await?;
    let read = |row: &AnyRow| {
        Ok(EventFact {
            name: row.text("name")?,
            at_ms: row.int("at_ms")?,
            detail: row.text("detail")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Rebuilds the attempt as its claim returned it, whichever way it began.
async fn attempt_of(work: &mut Work<'_>, node: NodeId, held: &Held) -> StoreResult<ClaimedAttempt> {
    let row = &held.row;
    if row.text("kind")? == AttemptKind::Inbound.as_str() {
        return called_in(work, node, row).await;
    }
    let (Some(campaign), Some(key)) = (row.maybe_id("campaign")?, held.contact) else {
        return calls::read_claimed(work, node, row).await;
    };
    let contact = claim::contacts("cc.idx = $3").bind(row.text("campaign")?);
    let contact = contact.bind(key.list).bind(key.index).one(&mut *work.conn).await?;
    Ok(ClaimedAttempt {
        claim: claim_of(node, row)?,
        account: row.id("account")?,
        campaign: Some(campaign),
        agent: row.id("agent")?,
        contact_index: key.index,
        attempt_no: row.int("attempt_no")?,
        tries: tries(row)?,
        contact: campaign_contacts::read(&contact)?,
        saved_extra: campaign_contacts::read_saved_extra(&contact)?,
        variables: Map::new(),
    })
}

fn claim_of(node: NodeId, row: &AnyRow) -> StoreResult<Claim> {
    Ok(Claim {
        attempt: row.id("id")?,
        owner: node,
        epoch: row.int("epoch")?,
    })
}

/// Rebuilds a call from outside, with the saved contact of its number.
async fn called_in(work: &mut Work<'_>, node: NodeId, row: &AnyRow) -> StoreResult<ClaimedAttempt> {
    let account = row.id("account")?;
    let (contact, saved_extra) = inbound::caller(work, account, row.number("phone_number")?).await?;
    let variables = callee::given_variables(work, row.id("id")?).await?;
    Ok(ClaimedAttempt {
        claim: claim_of(node, row)?,
        account,
        campaign: None,
        agent: row.id("agent")?,
        contact_index: 0,
        attempt_no: row.int("attempt_no")?,
        tries: tries(row)?,
        contact,
        saved_extra,
        variables,
    })
}
