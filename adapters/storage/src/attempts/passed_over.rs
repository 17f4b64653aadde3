//! Attempts that would be refused their permit whenever they asked: they end, or are put off, before they take a line.

use domain::{
    id::{AttemptId, CampaignId, NodeId},
    phone_number::PhoneNumber,
    ports::store::{Claim, Permit, StoreResult},
    safeguards::{Judgement, Note, PermitFacts, Refusal, Safeguards},
    time::Timestamp,
};
use sqlx::any::AnyRow;

use super::{
    claim::{self, Source},
    permit::{self, Bar},
};
use crate::{
    campaigns::contact_states::{self, ContactKey},
    contacts::do_not_call,
    engine::{
        Work,
        rows::{Columns, Fetch, ROWS_PER_INSERT, affected, composed, places},
    },
};

/// The next attempts of a campaign, and the prefixes that its agent must not dial.
#[derive(Debug, Clone)]
pub(super) struct Ahead {
    pub(super) node: NodeId,
    pub(super) campaign: CampaignId,
    /// Number of attempts that are looked at.
    pub(super) window: i64,
    pub(super) restricted: Vec<String>,
}

/// Where an attempt waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// As a queued row.
    Queued(AttemptId),
    /// As a contact that was claimed and given back, at this index.
    GivenBack(i64),
    /// As a contact that was never claimed, at this index.
    Fresh(i64),
}

struct Candidate {
    waiting: Waiting,
    number: PhoneNumber,
}

/// Reason why a candidate gets no permit.
enum Refused {
    Barred(Bar),
    ByRules(Judgement),
}

impl Refused {
    async fn carry_out(self, work: &mut Work<'_>, claim: Claim) -> StoreResult<(Permit, Vec<Note>)> {
        match self {
            Self::Barred(bar) => Ok((bar.refuse(work, claim).await?, Vec::new())),
            Self::ByRules(judgement) => {
                let permit = permit::refuse_by_rules(work, claim, &judgement).await?;
                Ok((permit, judgement.notes))
            }
        }
    }
}

/// Returns whether any of the next attempts would be refused.
pub(super) async fn any(mut work: Work<'_>, ahead: Ahead) -> StoreResult<bool> {
    match claim::source(&mut work, ahead.node, ahead.campaign, "").await? {
        Some(source) => Ok(!refused(&mut work, &source, &ahead).await?.is_empty()),
        None => Ok(false),
    }
}

/// Refuses the next attempts that would be refused. Returns the answers that their permits would have had.
pub(super) async fn pass_over(mut work: Work<'_>, ahead: Ahead) -> StoreResult<Vec<(Permit, Vec<Note>)>> {
    let Some(source) = claim::locked_source(&mut work, ahead.node, ahead.campaign).await? else {
        return Ok(Vec::new());
    };
    // Nobody takes fresh contacts of the list meanwhile.
    let lock = sqlx::query("UPDATE contact_lists SET next_index = next_index WHERE id = $1").bind(source.list);
    affected(lock, &mut *work.conn).await?;
    let refused = refused(&mut work, &source, &ahead).await?;
    let claims = take(&mut work, &source, &refused).await?;
    let mut answers = Vec::with_capacity(refused.len());
    for (candidate, refused) in refused {
        // Another node has claimed the others.
        if let Some(claim) = claims.iter().find(|taken| taken.waiting == candidate.waiting) {
            answers.push(refused.carry_out(&mut work, claim.claim).await?);
        }
    }
    Ok(answers)
}

async fn refused(work: &mut Work<'_>, source: &Source, ahead: &Ahead) -> StoreResult<Vec<(Candidate, Refused)>> {
    let candidates = candidates(work, source, ahead.window).await?;
    let numbers = candidates.iter().map(|candidate| &candidate.number);
    let listed = do_not_call::listed(work, &source.account.to_string(), numbers).await?;
    let rules = rules(work, source).await?;
    let now = work.now;
    let why = |place: usize, number: &PhoneNumber| match Bar::of(number, listed.contains(&place), &ahead.restricted) {
        Some(bar) => Some(Refused::Barred(bar)),
        None => by_rules(rules.as_ref()?, number, now).map(Refused::ByRules),
    };
    let refused = candidates.into_iter().enumerate().filter_map(|(place, candidate)| {
        let why = why(place, &candidate.number)?;
        Some((candidate, why))
    });
    Ok(refused.collect())
}

/// Applies the rules that need no look at other calls: destinations and calling hours.
fn by_rules(rules: &Safeguards, number: &PhoneNumber, now: Timestamp) -> Option<Judgement> {
    let judgement = rules.judge(&PermitFacts {
        number,
        now,
        number_free_at: None,
        calls_today: 0,
        dial_before: None,
    });
    let decides = matches!(judgement.refusal, Some(Refusal::PutOff(_) | Refusal::NotAllowed(_)));
    decides.then_some(judgement)
}

async fn rules(work: &mut Work<'_>, source: &Source) -> StoreResult<Option<Safeguards>> {
    let query = sqlx::query("SELECT document FROM safeguards WHERE account = $1 AND active = 1");
    let row = query.bind(source.account.to_string()).optional(&mut *work.conn).await?;
    row.map(|row| row.json("document")).transpose()
}

/// Returns the next attempts in the order of their claim.
async fn candidates(work: &mut Work<'_>, source: &Source, window: i64) -> StoreResult<Vec<Candidate>> {
    let queued = sqlx::query(
        "SELECT id, phone_number FROM attempts WHERE campaign = $1 AND state = 'queued' AND due_at <= $2 \
         ORDER BY due_at, id LIMIT $3",
    );
    let queued = queued.bind(source.campaign.to_string()).bind(work.now.0).bind(window);
    let queued = queued.all(&mut *work.conn).await?;
    let given_back = sqlx::query(
        "SELECT s.idx, cc.phone_number FROM contact_states s \
         JOIN campaign_contacts cc ON cc.list = s.list AND cc.idx = s.idx \
         WHERE s.list = $1 AND s.state = 'pending' AND s.attempts = 0 ORDER BY s.idx LIMIT $2",
    );
    let given_back = given_back.bind(source.list).bind(window - queued.len() as i64);
    let given_back = given_back.all(&mut *work.conn).await?;
    let fresh = sqlx::query(
        "SELECT cc.idx, cc.phone_number FROM campaign_contacts cc JOIN contact_lists l ON l.id = cc.list \
         WHERE cc.list = $1 AND cc.idx >= l.next_index ORDER BY cc.idx LIMIT $2",
    );
    let fresh = fresh
        .bind(source.list)
        .bind(window - (queued.len() + given_back.len()) as i64);
    let fresh = fresh.all(&mut *work.conn).await?;
    let candidate = |row: &AnyRow, waiting| {
        Ok(Candidate {
            waiting,
            number: row.number("phone_number")?,
        })
    };
    let queued = queued.iter().map(|row| candidate(row, Waiting::Queued(row.id("id")?)));
    let given_back = given_back
        .iter()
        .map(|row| candidate(row, Waiting::GivenBack(row.int("idx")?)));
    let fresh = fresh.iter().map(|row| candidate(row, Waiting::Fresh(row.int("idx")?)));
    queued.chain(given_back).chain(fresh).collect()
}

/// A candidate that this transaction has claimed.
struct Taken {
    waiting: Waiting,
    claim: Claim,
}

/// Claims the candidates, and no others.
async fn take(work: &mut Work<'_>, source: &Source, refused: &[(Candidate, Refused)]) -> StoreResult<Vec<Taken>> {
    let (mut queued, mut given_back, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
    for (candidate, _) in refused {
        match candidate.waiting {
            Waiting::Queued(attempt) => queued.push(attempt),
            Waiting::GivenBack(index) => given_back.push(index),
            Waiting::Fresh(index) => fresh.push(index),
        }
    }
    let mut taken = take_queued(work, source, &queued).await?;
    let mut rows = claim::take_indexes(work, source, &given_back).await?;
    rows.extend(take_fresh(work, source, &fresh).await?);
    for attempt in claim::first_attempts(work, source, &rows).await? {
        let index = attempt.contact_index;
        taken.push(Taken {
            waiting: match given_back.contains(&index) {
                true => Waiting::GivenBack(index),
                false => Waiting::Fresh(index),
            },
            claim: attempt.claim,
        });
    }
    Ok(taken)
}

async fn take_queued(work: &mut Work<'_>, source: &Source, queued: &[AttemptId]) -> StoreResult<Vec<Taken>> {
    let mut taken = Vec::new();
    for chunk in queued.chunks(ROWS_PER_INSERT) {
        let update = composed(format!(
            "UPDATE attempts SET state = 'claimed', owner = $1, epoch = epoch + 1, claimed_at = $2 \
             WHERE state = 'queued' AND id IN ({}) RETURNING id, contact_list, contact_index, epoch",
            places(3, chunk.len())
        ));
        let update = update.bind(source.node.to_string()).bind(work.now.0);
        let update = chunk
            .iter()
            .fold(update, |query, attempt| query.bind(attempt.to_string()));
        for row in update.all(&mut *work.conn).await? {
            if let Some(contact) = ContactKey::read(&row)? {
                contact_states::set_in_progress(work, contact).await?;
            }
            let attempt = row.id("id")?;
            taken.push(Taken {
                waiting: Waiting::Queued(attempt),
                claim: Claim {
                    attempt,
                    owner: source.node,
                    epoch: row.int("epoch")?,
                },
            });
        }
    }
    Ok(taken)
}

/// Takes contacts that were never claimed, and gives back those between them.
async fn take_fresh(work: &mut Work<'_>, source: &Source, indexes: &[i64]) -> StoreResult<Vec<AnyRow>> {
    let Some(last) = indexes.iter().max() else {
        return Ok(Vec::new());
    };
    let next = sqlx::query("SELECT next_index FROM contact_lists WHERE id = $1").bind(source.list);
    let next = next.one(&mut *work.conn).await?.int("next_index")?;
    let (mut taken, mut between) = (Vec::new(), Vec::new());
    for row in claim::take_fresh(work, source, last + 1 - next).await? {
        match row.int("idx")? {
            index if indexes.contains(&index) => taken.push(row),
            index => between.push(index),
        }
    }
    for chunk in between.chunks(ROWS_PER_INSERT) {
        let update = composed(format!(
            "UPDATE contact_states SET state = 'pending', attempts = 0 WHERE list = $1 AND idx IN ({})",
            places(2, chunk.len())
        ));
        let update = chunk
            .iter()
            .fold(update.bind(source.list), |query, index| query.bind(*index));
        affected(update, &mut *work.conn).await?;
    }
    Ok(taken)
}
