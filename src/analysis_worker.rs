//! Does the durable analysis jobs: reads what a call left behind, analyses it, keeps the result.

use std::{sync::Arc, time::Duration};

use actors::{
    analysis::{self, AnalysisInput},
    node::contained,
    ports::store::{Job, Store, StoreError},
};

/// How often the outbox is looked at; analysis follows the hang-up within seconds.
const POLL: Duration = Duration::from_millis(500);

/// Jobs taken at a time.
const BATCH: i64 = 16;

/// Works until it is dropped or aborted. Never ends by itself: a failing store, or a conversation that cannot be
/// analysed, is tried again.
pub async fn run(store: Arc<dyn Store>) {
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut away = false;
    loop {
        poll.tick().await;
        loop {
            match store.due_analyses(BATCH).await {
                Ok(jobs) if jobs.is_empty() => break,
                Ok(jobs) => work_off(&store, jobs).await,
                Err(error) => {
                    // Once, not with every look: the store may be away for long.
                    if !std::mem::replace(&mut away, true) {
                        tracing::warn!(%error, "analysis jobs cannot be read; trying again");
                    }
                    break;
                }
            }
            away = false;
        }
    }
}

async fn work_off(store: &Arc<dyn Store>, jobs: Vec<Job>) {
    for job in jobs {
        let (reader, its) = (Arc::clone(store), job.clone());
        if let Err(error) = contained(async move { analyse(&*reader, &its).await }).await {
            tracing::warn!(attempt = %job.attempt, %error, "analysis failed; it is tried again");
            put_off(&**store, &job).await;
        }
    }
}

async fn analyse(store: &dyn Store, job: &Job) -> Result<(), StoreError> {
    let conversation = store.conversation_of_job(job).await?;
    let turns = store.turns(job.attempt).await?;
    let input = AnalysisInput::of(&conversation);
    store.save_analysis(job, analysis::analyse(&turns, input)).await
}

/// 1 s, 2 s, 4 s … at most 5 minutes. A job that cannot even be put off comes back when its lease ends.
async fn put_off(store: &dyn Store, job: &Job) {
    let delay_ms = 1_000_i64.saturating_mul(1 << job.tries.clamp(0, 9)).min(300_000);
    if let Err(error) = store.retry_job(job, delay_ms).await {
        tracing::warn!(attempt = %job.attempt, %error, "analysis job not put off");
    }
}
