//! Erases recordings and transcripts that are older than the operator wants to keep them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use actors::{
    ports::store::{Store, StoreResult},
    time::{Clock, Timestamp},
};

use crate::{config::Kept, recordings};

/// How often it looks; nothing is kept for longer than its days and this.
const EVERY: Duration = Duration::from_secs(3_600);

/// Calls erased in one transaction; others write in between.
const BATCH: i64 = 200;

/// Looks at once and then now and then, until it is dropped. What fails is tried again the next time.
pub async fn run(store: Arc<dyn Store>, clock: Arc<dyn Clock>, recordings: PathBuf, kept: Kept) {
    if kept == Kept::default() {
        return;
    }
    let mut look = tokio::time::interval(EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        let now = clock.now();
        if let Some(days) = kept.recordings_days {
            erase_recordings(recordings.clone(), earlier(now, days)).await;
        }
        if let Some(days) = kept.transcripts_days {
            match erase_words(&*store, earlier(now, days)).await {
                Ok(0) => {}
                Ok(calls) => tracing::info!(calls, days, "transcripts were erased because of their age"),
                Err(error) => tracing::warn!(%error, "old transcripts not erased; trying again in an hour"),
            }
        }
    }
}

fn earlier(now: Timestamp, days: u32) -> Timestamp {
    Timestamp(now.0 - i64::from(days) * 86_400 * 1_000_000)
}

async fn erase_words(store: &dyn Store, before: Timestamp) -> StoreResult<usize> {
    let mut calls = 0;
    loop {
        let erased = store.erase_words(before, BATCH).await?;
        calls += erased;
        if i64::try_from(erased).unwrap_or(BATCH) < BATCH {
            return Ok(calls);
        }
    }
}

async fn erase_recordings(folder: PathBuf, before: Timestamp) {
    let before = SystemTime::UNIX_EPOCH + before.since(Timestamp(0));
    let erased = tokio::task::spawn_blocking(move || erase_in(&folder, before));
    // A panic in it would be logged by the panic hook.
    let _ = erased.await;
}

fn erase_in(folder: &Path, before: SystemTime) {
    match recordings::erase_older(folder, before) {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "recordings were erased because of their age"),
        Err(error) => tracing::warn!(%error, "old recordings not erased; trying again in an hour"),
    }
}
