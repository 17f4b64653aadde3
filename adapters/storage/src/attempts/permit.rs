//! The permit: all checks and the one-way step to `dialing`, in one transaction.

use std::time::Duration;

use domain::{
    dial_token::DialToken,
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::store::{CallerId, Claim, ConversationStatus, Permit, PermitRequest, SentWith, StoreError, StoreResult},
    safeguards::{Judgement, Note, Refusal, Safeguards},
};
use sqlx::{AnyConnection, any::AnyRow};

use super::steps;
use crate::{
    attempts::attempt_guard::{Guarded, SENT, bind_claim},
    callee,
    campaigns::{
        contact_states::{self, ContactState},
        safeguards::{self, Subject},
    },
    contacts::do_not_call,
    engine::{
        Work,
        dial_journal::DialNote,
        locks,
        rows::{AnyQuery, Columns, Fetch, composed, places},
    },
    events::attempt_ends,
};

/// Error of an attempt whose number nobody has.
const INVALID_NUMBER: &str = "invalid-number";

/// Delay of an attempt whose number is being called by another one.
const NUMBER_BUSY_DELAY: Duration = Duration::from_secs(30);

/// Returns the permit, and the decisions of the account's safeguards.
pub(super) async fn permit(
    mut work: Work<'_>,
    claim: Claim,
    request: PermitRequest,
) -> StoreResult<(Permit, Vec<Note>)> {
    locks::before_permit(&mut work, &claim.attempt.to_string()).await?;
    let row = checks(&mut work, claim).await?;
    let number = row.number("phone_number")?;
    if !row.flag("campaign_runs")? {
        steps::give_back(&mut work, claim).await?;
        return Ok((Permit::CampaignNotRunning, Vec::new()));
    }
    let on_the_list = do_not_call::holds(&mut work, &row.text("account")?, &number).await?;
    if let Some(bar) = Bar::of(&number, on_the_list, &request.restricted_prefixes) {
        return Ok((bar.refuse(&mut work, claim).await?, Vec::new()));
    }
    if is_being_called(&mut work, claim.attempt, &row.text("account")?, &number).await? {
        let due_at = work.now.plus(NUMBER_BUSY_DELAY);
        steps::requeue(&mut work, claim, Some(due_at)).await?;
        return Ok((Permit::NumberBusy, Vec::new()));
    }
    match row.maybe_text("safeguards")? {
        None => Ok((grant(&mut work, claim, request).await?, Vec::new())),
        Some(rules) => {
            let subject = Subject {
                attempt: claim.attempt,
                account: &row.text("account")?,
                number: &number,
            };
            under_rules(&mut work, claim, &subject, &rules, request).await
        }
    }
}

/// Checks the account's own rules in addition to those that apply to everybody.
async fn under_rules(
    work: &mut Work<'_>,
    claim: Claim,
    subject: &Subject<'_>,
    rules: &str,
    request: PermitRequest,
) -> StoreResult<(Permit, Vec<Note>)> {
    let account = subject.account;
    let damaged = |error: serde_json::Error| StoreError::Damaged(format!("safeguards of {account}: {error}"));
    let rules: Safeguards = serde_json::from_str(rules).map_err(damaged)?;
    let judgement = safeguards::judge(work, subject, &rules).await?;
    let permit = match judgement.refusal {
        None => {
            safeguards::keep(work, claim.attempt, &judgement.notes).await?;
            safeguards::count(work, account, &rules.daily_calls).await?;
            grant(work, claim, request).await?
        }
        Some(_) => refuse_by_rules(work, claim, &judgement).await?,
    };
    Ok((permit, judgement.notes))
}

/// Carries out the refusal of the account's rules.
pub(super) async fn refuse_by_rules(work: &mut Work<'_>, claim: Claim, judgement: &Judgement) -> StoreResult<Permit> {
    safeguards::keep(work, claim.attempt, &judgement.notes).await?;
    match judgement.refusal.clone() {
        Some(Refusal::PutOff(until)) => {
            steps::put_off(work, claim, until, judgement.put_off_by()).await?;
            Ok(Permit::PutOff { until })
        }
        Some(Refusal::NotAllowed(error)) => {
            refuse(work, claim, Ended::Failed, error.clone()).await?;
            Ok(Permit::NotAllowed { error })
        }
        Some(Refusal::DayUsedUp(reason)) => {
            steps::give_back(work, claim).await?;
            Ok(Permit::DayUsedUp { reason })
        }
        None => Err(StoreError::Damaged(format!(
            "no rule refuses attempt {}",
            claim.attempt
        ))),
    }
}

/// Reason why a number is not dialed for anybody of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bar {
    DoNotCall,
    Restricted,
    /// The number was stored under an earlier rule, and nobody has it.
    Impossible,
}

impl Bar {
    /// Returns the reason for a number, if there is one.
    pub(super) fn of(number: &PhoneNumber, on_the_list: bool, restricted: &[String]) -> Option<Self> {
        if number.is_nobodys() || on_the_list {
            return Some(Self::DoNotCall);
        }
        let Some(dialed) = number.dialed() else {
            return Some(Self::Impossible);
        };
        let begins_with = |prefix: &String| dialed.as_str().starts_with(prefix.as_str());
        restricted.iter().any(begins_with).then_some(Self::Restricted)
    }

    /// Ends the claimed attempt for this reason.
    pub(super) async fn refuse(self, work: &mut Work<'_>, claim: Claim) -> StoreResult<Permit> {
        let (error, permit) = match self {
            Self::DoNotCall => ("do-not-call", Permit::DoNotCall),
            Self::Restricted => ("restricted", Permit::Restricted),
            Self::Impossible => {
                let error = INVALID_NUMBER.to_owned();
                refuse(work, claim, Ended::Failed, error.clone()).await?;
                return Ok(Permit::NotAllowed { error });
            }
        };
        refuse(work, claim, Ended::Cancelled, error.to_owned()).await?;
        Ok(permit)
    }
}

/// Subquery for the rules of the account of attempt `a`, if one of them is on.
const RULES: &str = "(SELECT g.document FROM safeguards g WHERE g.account = a.account AND g.active = 1) AS safeguards";

/// Reads one row with everything that decides about the permit. Returns `Fenced` if the claim no longer holds.
async fn checks(work: &mut Work<'_>, claim: Claim) -> StoreResult<AnyRow> {
    let permit_lock = work.dialect.permit_lock;
    let query = composed(format!(
        "SELECT a.account, a.phone_number, {RULES}, \
         CAST(CASE WHEN c.status = 'running' AND c.deleted_at IS NULL AND (c.closes_at IS NULL OR c.closes_at > $4) \
              THEN 1 ELSE 0 END AS BIGINT) AS campaign_runs \
         FROM attempts a JOIN campaigns c ON c.id = a.campaign \
         WHERE a.id = $1 AND COALESCE(a.owner, '') = $2 AND a.epoch = $3 AND a.state = 'claimed'{permit_lock}"
    ));
    let row = bind_claim(query, claim)
        .bind(work.now.0)
        .optional(&mut *work.conn)
        .await?;
    match row {
        Some(row) => Ok(row),
        None => checks_of_single_call(work, claim).await,
    }
}

/// Reads the same row for an attempt without a campaign, which counts as running.
async fn checks_of_single_call(work: &mut Work<'_>, claim: Claim) -> StoreResult<AnyRow> {
    let query = composed(format!(
        "SELECT a.account, a.phone_number, {RULES}, CAST(1 AS BIGINT) AS campaign_runs \
         FROM attempts a \
         WHERE a.id = $1 AND COALESCE(a.owner, '') = $2 AND a.epoch = $3 AND a.state = 'claimed' AND a.campaign IS NULL"
    ));
    let row = bind_claim(query, claim).optional(&mut *work.conn).await?;
    row.ok_or(StoreError::Fenced)
}

/// Returns whether another attempt of the account has this number on the line, in any of its spellings. Until the end of
/// the transaction no other permit for it is given.
async fn is_being_called(
    work: &mut Work<'_>,
    attempt: AttemptId,
    account: &str,
    number: &PhoneNumber,
) -> StoreResult<bool> {
    locks::before_number(work, account, number).await?;
    let spellings = number.spellings();
    let query = composed(format!(
        "SELECT id FROM attempts WHERE account = $1 AND id <> $2 AND state IN {SENT} AND phone_number IN ({}) LIMIT 1",
        places(3, spellings.len())
    ));
    let query = query.bind(account.to_owned()).bind(attempt.to_string());
    let query = spellings.into_iter().fold(query, AnyQuery::bind);
    let other = query.optional(&mut *work.conn).await?;
    Ok(other.is_some())
}

/// Status of an attempt that ends without being dialed.
#[derive(Clone, Copy)]
enum Ended {
    Cancelled,
    Failed,
}

async fn refuse(work: &mut Work<'_>, claim: Claim, ended: Ended, error: String) -> StoreResult<()> {
    let now = work.now.0;
    let (status, state) = match ended {
        Ended::Cancelled => (ConversationStatus::Cancelled, ContactState::Cancelled),
        Ended::Failed => (ConversationStatus::Failed, ContactState::Failed),
    };
    let update = Guarded::update(
        claim,
        "state = 'final', status = $6, error = $4, ended_at = $5",
        "('claimed')",
    );
    let held = update
        .run(work, |query| query.bind(error).bind(now).bind(status.as_str()))
        .await?;
    contact_states::set(work, held.contact, state, false).await?;
    attempt_ends::ended_unsent(work, claim.attempt).await
}

async fn grant(work: &mut Work<'_>, claim: Claim, request: PermitRequest) -> StoreResult<Permit> {
    let now = work.now.0;
    let token = DialToken::random();
    let caller_id = match &request.caller_id {
        Some(caller) => take_turn(work, claim.attempt, caller).await?,
        None => None,
    };
    let (name, variables) = callee::at_the_dial(work, claim.attempt).await?;
    let update = Guarded::update(
        claim,
        "state = 'dialing', status = 'in_progress', dialing_at = $4, started_at = $4, dial_token = $5, carrier = $6, \
         caller_id = $7, agent_version = $8, contact_name = $9, variables = $10",
        "('claimed')",
    );
    let stored = token.as_stored().to_owned();
    let shown = caller_id.clone().map(String::from);
    update
        .run(work, move |query| {
            let query = query.bind(now).bind(stored).bind(request.carrier);
            let query = query.bind(shown).bind(request.agent_version);
            query.bind(name).bind(variables)
        })
        .await?;
    Ok(Permit::Granted { token, caller_id })
}

/// Returns the caller ID for the agent's next permit. The counter's row is the last one that a permit locks,
/// so permits of one agent wait for each other without deadlock.
async fn take_turn(work: &mut Work<'_>, attempt: AttemptId, caller: &CallerId) -> StoreResult<Option<PhoneNumber>> {
    let CallerId::InTurn(_) = caller else {
        return Ok(caller.of_permit(0).cloned());
    };
    let count = sqlx::query(
        "INSERT INTO caller_id_turns (agent, permits) SELECT agent, 1 FROM attempts WHERE id = $1 \
         ON CONFLICT (agent) DO UPDATE SET permits = caller_id_turns.permits + 1 RETURNING permits",
    );
    let row = count.bind(attempt.to_string()).one(&mut *work.conn).await?;
    let permits = row.int("permits")?;
    Ok(caller.of_permit(permits - 1).cloned())
}

pub(super) async fn sent_with(work: Work<'_>, attempt: AttemptId) -> StoreResult<Option<SentWith>> {
    let query =
        sqlx::query("SELECT carrier, dial_token FROM attempts WHERE id = $1 AND state = 'final' AND transferred = 0");
    let row = query.bind(attempt.to_string()).optional(work.conn).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let (carrier, token) = (row.maybe_text("carrier")?, row.maybe_text("dial_token")?);
    Ok(carrier.zip(token).map(|(carrier, token)| SentWith {
        carrier,
        token: DialToken::from_stored(token),
    }))
}

pub(super) async fn dial_token(work: Work<'_>, attempt: AttemptId) -> StoreResult<DialToken> {
    let query = composed(format!(
        "SELECT dial_token FROM attempts WHERE id = $1 AND state IN {SENT}"
    ));
    let row = query.bind(attempt.to_string()).existing(work.conn).await?;
    let token = row.maybe_text("dial_token")?.ok_or(StoreError::NotFound)?;
    Ok(DialToken::from_stored(token))
}

/// Builds the journal's note of a permit, in the permit's own transaction.
pub(super) async fn note_of(conn: &mut AnyConnection, claim: Claim) -> StoreResult<DialNote> {
    let query = sqlx::query(
        "SELECT account, agent, campaign, contact_list, contact_index, attempt_no, follow_up_no, retry_no, call_backs, kind, \
         phone_number, dial_token, carrier, caller_id, dialing_at FROM attempts \
         WHERE id = $1 AND COALESCE(owner, '') = $2 AND epoch = $3 AND state = 'dialing'",
    );
    let query = query
        .bind(claim.attempt.to_string())
        .bind(claim.owner.to_string())
        .bind(claim.epoch);
    let row = query.optional(conn).await?;
    let row = row.ok_or(StoreError::Fenced)?;
    let missing = || StoreError::Damaged(format!("attempt {} has a permit and no token", claim.attempt));
    Ok(DialNote {
        attempt: claim.attempt.to_string(),
        owner: Some(claim.owner.to_string()),
        epoch: claim.epoch,
        at: row.int("dialing_at")?,
        account: row.text("account")?,
        agent: row.text("agent")?,
        campaign: row.maybe_text("campaign")?,
        contact_list: row.maybe_int("contact_list")?,
        contact_index: row.maybe_int("contact_index")?,
        attempt_no: row.int("attempt_no")?,
        follow_up_no: row.int("follow_up_no")?,
        retry_no: row.int("retry_no")?,
        call_backs: row.int("call_backs")?,
        kind: row.text("kind")?,
        phone_number: row.text("phone_number")?,
        dial_token: row.maybe_text("dial_token")?.ok_or_else(missing)?,
        carrier: row.maybe_text("carrier")?.ok_or_else(missing)?,
        caller_id: row.maybe_text("caller_id")?,
    })
}
