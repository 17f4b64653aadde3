//! Steps after a claim or a permit: giving it back, the call's progress, the outcome.

use std::time::Duration;

use domain::{
    id::AttemptId,
    ports::{
        carrier::CarrierCallId,
        store::{
            AccountEventType, AttemptState, CampaignStatus, Claim, ConversationStatus, FACTS_FOLLOW_MS, LiveCall,
            NextAttempt, Outcome, StoreError, StoreResult,
        },
    },
    safeguards::Rule,
    time::Timestamp,
};

use super::waiting;
use crate::{
    attempts::attempt_guard::{Guarded, SENT},
    campaigns::{
        contact_states::{self, ContactState},
        refusals,
    },
    conversations::jobs,
    engine::{
        Work,
        rows::{Columns, Fetch, affected, composed, to_json, unavailable, unique},
    },
    events::{account_events, attempt_ends, deliveries},
};

pub(super) async fn release(mut work: Work<'_>, claims: Vec<Claim>) -> StoreResult<()> {
    for claim in claims {
        match give_back(&mut work, claim).await {
            // Another owner has it now, or it was dialed: there is nothing to give back.
            Ok(()) | Err(StoreError::Fenced) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// State of an attempt that is claimed and not permitted.
const CLAIMED: &str = "('claimed')";

/// States in which nothing was sent, according to the claim's holder.
const UNSENT: &str = "('claimed', 'dialing')";

/// Facts that decide what happens to an attempt that was not sent.
pub(super) struct Standing {
    first: bool,
    /// The campaign was stopped or deleted.
    pub(super) stopped: bool,
}

pub(super) async fn standing(work: &mut Work<'_>, attempt: AttemptId) -> StoreResult<Standing> {
    let permit_lock = work.dialect.permit_lock;
    let query = composed(format!(
        "SELECT a.attempt_no, c.status, c.deleted_at FROM attempts a JOIN campaigns c ON c.id = a.campaign \
         WHERE a.id = $1{permit_lock}"
    ));
    let query = query.bind(attempt.to_string()).fetch_optional(&mut *work.conn);
    let Some(row) = query.await.map_err(unavailable)? else {
        // A single call, which is always queued again, or no attempt at all, which the guard below detects.
        return Ok(Standing {
            first: false,
            stopped: false,
        });
    };
    Ok(Standing {
        first: row.int("attempt_no")? == 1,
        stopped: row.text("status")? == CampaignStatus::Stopped.as_str() || row.maybe_int("deleted_at")?.is_some(),
    })
}

/// Gives a claim back that was not permitted. The row of a contact's first attempt is deleted. A later attempt is queued
/// again, or ends cancelled if the campaign was stopped meanwhile.
pub(super) async fn give_back(work: &mut Work<'_>, claim: Claim) -> StoreResult<()> {
    match standing(work, claim.attempt).await? {
        Standing { first: true, .. } => forget(work, claim, CLAIMED).await,
        Standing { stopped: true, .. } => cancel(work, claim, CLAIMED).await,
        Standing { .. } => queue_again(work, claim, CLAIMED, None, None).await,
    }
}

/// Resets the contact as if it had never been claimed.
async fn forget(work: &mut Work<'_>, claim: Claim, states: &str) -> StoreResult<()> {
    let held = Guarded::delete(claim, states).run(work, |query| query).await?;
    contact_states::set_untried(work, held.contact).await
}

/// Cancels a claimed attempt, as the stop of its campaign requires.
async fn cancel(work: &mut Work<'_>, claim: Claim, states: &str) -> StoreResult<()> {
    let now = work.now.0;
    let update = Guarded::update(
        claim,
        "state = 'final', status = 'cancelled', ended_at = $4, started_at = due_at, dialing_at = NULL, \
         dial_token = NULL, carrier = NULL, caller_id = NULL, agent_version = NULL, contact_name = NULL, variables = NULL",
        states,
    );
    let held = update.run(work, |query| query.bind(now)).await?;
    contact_states::set(work, held.contact, ContactState::Cancelled, false).await?;
    attempt_ends::ended_unsent(work, claim.attempt).await
}

/// Puts the attempt back in the queue under the next epoch, due at `due_at` or when it was due before.
pub(super) async fn requeue(work: &mut Work<'_>, claim: Claim, due_at: Option<Timestamp>) -> StoreResult<()> {
    queue_again(work, claim, UNSENT, due_at, None).await
}

/// Puts the attempt back in the queue because a rule of the account delays it; a change of the rules makes it due.
pub(super) async fn put_off(work: &mut Work<'_>, claim: Claim, until: Timestamp, by: Option<Rule>) -> StoreResult<()> {
    queue_again(work, claim, UNSENT, Some(until), by).await
}

async fn queue_again(
    work: &mut Work<'_>,
    claim: Claim,
    states: &str,
    due_at: Option<Timestamp>,
    put_off_by: Option<Rule>,
) -> StoreResult<()> {
    let update = Guarded::update(
        claim,
        "state = 'queued', status = 'scheduled', owner = NULL, epoch = epoch + 1, due_at = COALESCE($4, due_at), \
         started_at = COALESCE($4, due_at), put_off_by = $5, dialing_at = NULL, dial_token = NULL, carrier = NULL, \
         caller_id = NULL, agent_version = NULL, contact_name = NULL, variables = NULL",
        states,
    );
    let held = update
        .run(work, |query| {
            query.bind(due_at.map(|at| at.0)).bind(put_off_by.map(Rule::as_str))
        })
        .await?;
    contact_states::set(work, held.contact, ContactState::Pending, false).await
}

pub(super) async fn not_sent(mut work: Work<'_>, claim: Claim, delay_ms: i64, why: Option<String>) -> StoreResult<()> {
    match standing(&mut work, claim.attempt).await? {
        Standing { stopped: false, .. } => {
            let due_at = Timestamp(work.now.0 + delay_ms * 1_000);
            requeue(&mut work, claim, Some(due_at)).await?;
            match why {
                Some(why) => note(&mut work, claim, why).await,
                None => Ok(()),
            }
        }
        Standing { first: true, .. } => forget(&mut work, claim, UNSENT).await,
        Standing { .. } => cancel(&mut work, claim, UNSENT).await,
    }
}

/// Stores why an attempt was delayed, in case it never gets through.
async fn note(work: &mut Work<'_>, claim: Claim, why: String) -> StoreResult<()> {
    let update = sqlx::query("UPDATE attempts SET error = $2 WHERE id = $1 AND state = 'queued'");
    let update = update.bind(claim.attempt.to_string()).bind(why);
    affected(update, &mut *work.conn).await.map(drop)
}

pub(super) async fn dialed(mut work: Work<'_>, claim: Claim, call: CarrierCallId) -> StoreResult<()> {
    // A media socket may have been faster than the carrier's answer: the state only moves forward.
    let update = Guarded::update(
        claim,
        "state = CASE WHEN state = 'answered' THEN state ELSE 'dialed' END, \
         carrier_call = COALESCE(carrier_call, $4)",
        SENT,
    );
    let id = call.0.clone();
    let held = update
        .run_or(&mut work, move |query| query.bind(id), unique("call"))
        .await?;
    // The error rolls the change back with the savepoint.
    match held.row.maybe_text("carrier_call")? {
        Some(known) if known == call.0 => {
            account_events::of_call(&mut work, claim.attempt, AccountEventType::CallStarted).await
        }
        _ => Err(StoreError::Exists("call")),
    }
}

pub(super) async fn attempt_of_call(
    work: Work<'_>,
    carrier: String,
    call: CarrierCallId,
) -> StoreResult<Option<AttemptId>> {
    let query = sqlx::query("SELECT id FROM attempts WHERE carrier = $1 AND carrier_call = $2");
    let row = query.bind(carrier).bind(call.0).optional(work.conn).await?;
    row.map(|row| row.id("id")).transpose()
}

/// Earliest instant of a call.
const BEGAN: &str = "COALESCE(dialing_at, created_at)";

/// Builds the SQL for the later of two instants; null if `place` is null.
fn not_before(place: &str, least: &str) -> String {
    format!("CASE WHEN {place} < {least} THEN {least} ELSE {place} END")
}

/// Builds the SQL for `answered_at`: the stored time if there is one, else the time at the placeholder `place`.
fn first_answer(place: &str) -> String {
    format!("COALESCE(answered_at, {})", not_before(place, BEGAN))
}

pub(super) async fn answered(mut work: Work<'_>, claim: Claim, at: Timestamp) -> StoreResult<()> {
    let at = at.min(work.now).0;
    let assignments = format!("state = 'answered', answered_at = {}", first_answer("$4"));
    let update = Guarded::update(claim, &assignments, SENT);
    let held = update.run(&mut work, |query| query.bind(at)).await?;
    if held.row.maybe_text("carrier_call")?.is_none() {
        // The carrier has not sent its id of the call yet.
        account_events::of_call(&mut work, claim.attempt, AccountEventType::CallStarted).await?;
    }
    refusals::got_through(&mut work, claim.attempt).await?;
    account_events::of_call(&mut work, claim.attempt, AccountEventType::CallAnswered).await
}

/// Writes a live call's own facts again after the database has forgotten them.
pub(crate) async fn told_again(mut work: Work<'_>, call: LiveCall) -> StoreResult<()> {
    let update = Guarded::update(
        call.claim,
        "state = CASE WHEN answered_at IS NOT NULL OR $5 IS NOT NULL THEN 'answered' \
         WHEN carrier_call IS NOT NULL OR $4 IS NOT NULL THEN 'dialed' ELSE state END, \
         carrier_call = COALESCE(carrier_call, $4), answered_at = COALESCE(answered_at, $5)",
        SENT,
    );
    let (leg, answered_at) = (call.leg.map(|leg| leg.0), call.answered_at.map(|at| at.0));
    let written = update.run_or(
        &mut work,
        move |query| query.bind(leg).bind(answered_at),
        unique("call"),
    );
    written.await.map(drop)
}

pub(super) async fn unknown(mut work: Work<'_>, claim: Claim) -> StoreResult<()> {
    // If a callback was faster, the outcome is known after all.
    let update = Guarded::update(
        claim,
        "state = CASE WHEN state = 'dialing' THEN 'unknown' ELSE state END",
        SENT,
    );
    update.run(&mut work, |query| query).await.map(drop)
}

fn contact_state(status: ConversationStatus) -> StoreResult<ContactState> {
    match status {
        ConversationStatus::Completed => Ok(ContactState::Completed),
        ConversationStatus::Failed => Ok(ContactState::Failed),
        ConversationStatus::Cancelled => Ok(ContactState::Cancelled),
        ConversationStatus::InProgress | ConversationStatus::Scheduled => {
            Err(StoreError::Damaged(format!("an outcome cannot be {}", status.as_str())))
        }
    }
}

pub(super) async fn finish(
    mut work: Work<'_>,
    claim: Claim,
    outcome: Outcome,
    next: Option<NextAttempt>,
) -> StoreResult<()> {
    let state = contact_state(outcome.status)?;
    refusals::count(&mut work, claim.attempt, &outcome).await?;
    let now = work.now;
    let answered_at = outcome.times.answered_at.map(|at| at.min(now).0);
    let ended_at = outcome.times.ended_at.map_or(now, |at| at.min(now)).0;
    let analysed_after = match outcome.facts_follow {
        true => Duration::from_millis(FACTS_FOLLOW_MS.unsigned_abs()),
        false => Duration::ZERO,
    };
    let collected = to_json(&outcome.collected)?;
    let answered = first_answer("$10");
    let ended = not_before("$9", &format!("COALESCE({answered}, {BEGAN})"));
    let assignments = format!(
        "state = 'final', status = $4, error = $5, voicemail = $6, transferred = $7, \
         collected = CASE WHEN $8 = '{{}}' THEN collected ELSE $8 END, answered_at = {answered}, ended_at = {ended}, \
         duration_s = COALESCE(({ended} - {answered}) / 1000000, 0), end_written_at = $11"
    );
    let update = Guarded::update(
        claim,
        &assignments,
        "('claimed', 'dialing', 'dialed', 'answered', 'unknown')",
    );
    let held = update
        .run(&mut work, move |query| {
            query
                .bind(outcome.status.as_str())
                .bind(outcome.error)
                .bind(i64::from(outcome.voicemail))
                .bind(i64::from(outcome.transferred))
                .bind(collected)
                .bind(ended_at)
                .bind(answered_at)
                .bind(now.0)
        })
        .await?;
    debug_assert_eq!(held.state, AttemptState::Final);
    contact_states::set(&mut work, held.contact, state, outcome.voicemail).await?;
    if let Some(next) = next
        && !standing(&mut work, claim.attempt).await?.stopped
    {
        waiting::plan_next(&mut work, &held, claim.attempt, next).await?;
    }
    attempt_ends::ended(&mut work, claim.attempt).await?;
    match held.row.maybe_time("answered_at")? {
        // Nobody spoke, so there is nothing to analyse.
        None => deliveries::make(&mut work, claim.attempt).await,
        Some(_) => jobs::add_analysis(&mut work, claim.attempt, now.plus(analysed_after)).await,
    }
}
