//! Durable jobs. The number of times a job was handed out is its lease: a holder of an older lease is fenced.

use std::time::Duration;

use domain::{
    id::{AttemptId, JobId},
    ports::store::{AccountEventType, Analysis, FACTS_FOLLOW_MS, Job, StoreError, StoreResult},
    time::Timestamp,
};

use super::transcripts;
use crate::{
    contacts,
    engine::{
        Work,
        rows::{AnyQuery, Columns, Fetch, affected, composed, places, to_json},
    },
    events::{account_events, deliveries},
};

/// Time before a job that was handed out is handed out again.
const LEASE: Duration = Duration::from_secs(60);

/// Queues the analysis of a call, unless it is a test.
pub(crate) async fn add_analysis(work: &mut Work<'_>, attempt: AttemptId, due_at: Timestamp) -> StoreResult<()> {
    let insert = sqlx::query(
        "INSERT INTO outbox (id, kind, attempt, due_at, tries) SELECT $1, 'analysis', a.id, $3, 0 FROM attempts a \
         WHERE a.id = $2 AND NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = a.id)",
    )
    .bind(JobId::new().to_string())
    .bind(attempt.to_string())
    .bind(due_at.0);
    affected(insert, work.conn).await.map(drop)
}

/// Queues the analysis of calls that are over and received late turns, again if it was done. A worker that
/// runs the analysis has not seen these turns and is fenced.
pub(crate) async fn analyse_again(work: &mut Work<'_>, attempts: &[AttemptId]) -> StoreResult<()> {
    let query = composed(format!(
        "SELECT id FROM attempts WHERE state = 'final' AND answered_at IS NOT NULL AND words_kept = 1 AND id IN ({}) \
         AND NOT EXISTS (SELECT 1 FROM test_calls t WHERE t.attempt = attempts.id)",
        places(1, attempts.len())
    ));
    let query = attempts.iter().fold(query, |query, id| query.bind(id.to_string()));
    let over = query.all(&mut *work.conn).await?;
    let due_at = work.now.plus(Duration::from_millis(FACTS_FOLLOW_MS.unsigned_abs())).0;
    for row in over {
        let upsert = sqlx::query(
            "INSERT INTO outbox (id, kind, attempt, due_at, tries) VALUES ($1, 'analysis', $2, $3, 0) \
             ON CONFLICT (attempt, kind) DO UPDATE SET due_at = excluded.due_at, tries = outbox.tries + 1",
        );
        let upsert = upsert.bind(JobId::new().to_string()).bind(row.text("id")?).bind(due_at);
        affected(upsert, &mut *work.conn).await?;
    }
    Ok(())
}

pub(crate) async fn lease_analyses(work: Work<'_>, limit: i64) -> StoreResult<Vec<Job>> {
    let skip_locked = work.dialect.skip_locked;
    let query = composed(format!(
        "WITH due AS MATERIALIZED (SELECT id FROM outbox WHERE kind = 'analysis' AND due_at <= $2 \
         ORDER BY due_at, id LIMIT $3{skip_locked}) \
         UPDATE outbox SET due_at = $1, tries = tries + 1 WHERE due_at <= $2 AND id IN (SELECT id FROM due) \
         RETURNING id, attempt, tries"
    ))
    .bind(work.now.plus(LEASE).0)
    .bind(work.now.0)
    .bind(limit.max(0));
    let rows = query.all(work.conn).await?;
    let jobs: StoreResult<Vec<Job>> = rows
        .iter()
        .map(|row| {
            Ok(Job {
                id: row.id("id")?,
                attempt: row.id("attempt")?,
                tries: row.int("tries")? - 1,
            })
        })
        .collect();
    let mut jobs = jobs?;
    // The order of RETURNING is up to the database; ids follow the order in which the jobs were created.
    jobs.sort_by_key(|job| job.id);
    Ok(jobs)
}

/// Binds `$1` and `$2` of `WHERE id = $1 AND tries = $2`: the job under the caller's lease.
fn bind_lease<'q>(query: AnyQuery<'q>, job: &Job) -> AnyQuery<'q> {
    query.bind(job.id.to_string()).bind(job.tries + 1)
}

fn fenced_if_none(rows: u64) -> StoreResult<()> {
    match rows {
        0 => Err(StoreError::Fenced),
        _ => Ok(()),
    }
}

pub(crate) async fn save_analysis(mut work: Work<'_>, job: Job, analysis: Analysis) -> StoreResult<()> {
    let collected = analysis.collected.as_ref().map(to_json).transpose()?;
    let update = sqlx::query(
        "UPDATE attempts SET summary = $1, analysis = $2, collected = COALESCE($4, collected), evidence = $5 \
         WHERE id = $3 AND state = 'final'",
    )
    .bind(analysis.summary.clone())
    .bind(to_json(&analysis)?)
    .bind(job.attempt.to_string())
    .bind(collected)
    .bind(to_json(&analysis.evidence)?);
    affected(update, &mut *work.conn).await?;
    // This comes after the call's row, in the same order as an erasure; a lost lease rolls the change of the row back.
    let delete = bind_lease(sqlx::query("DELETE FROM outbox WHERE id = $1 AND tries = $2"), &job);
    fenced_if_none(affected(delete, &mut *work.conn).await?)?;
    if !analysis.contact.is_empty() {
        contacts::keep(&mut work, job.attempt, &analysis.contact).await?;
    }
    transcripts::note(&mut work, job.attempt).await?;
    account_events::of_call(&mut work, job.attempt, AccountEventType::CallAnalysed).await?;
    deliveries::make(&mut work, job.attempt).await
}

pub(crate) async fn retry(work: Work<'_>, job: Job, delay_ms: i64) -> StoreResult<()> {
    let due_at = work.now.0 + delay_ms * 1_000;
    let update = bind_lease(
        sqlx::query("UPDATE outbox SET due_at = $3 WHERE id = $1 AND tries = $2"),
        &job,
    );
    fenced_if_none(affected(update.bind(due_at), work.conn).await?)
}
