//! Does the durable analysis jobs: reads what a call left behind, analyses it, keeps the result.

use std::{sync::Arc, time::Duration};

use actors::{
    analysis::{self, AnalysisInput},
    ports::store::{Job, Store, StoreError},
};

/// How often the outbox is looked at; analysis follows the hang-up within seconds.
const POLL: Duration = Duration::from_millis(500);

/// Jobs taken at a time.
const BATCH: i64 = 16;

/// Works until it is dropped or aborted. Never ends by itself: a failing store is tried again.
pub async fn run(store: Arc<dyn Store>) {
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        poll.tick().await;
        while let Ok(jobs) = store.due_analyses(BATCH).await
            && !jobs.is_empty()
        {
            for job in jobs {
                if let Err(error) = analyse(store.as_ref(), &job).await {
                    tracing::warn!(attempt = %job.attempt, %error, "analysis failed; it is tried again");
                    put_off(store.as_ref(), &job).await;
                }
            }
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
