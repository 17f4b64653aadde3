//! Erases recordings and transcripts after the configured days, and deletes old account events, deliveries and test calls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use clap::Args;
use domain::{
    ports::store::{Store, StoreError, StoreResult},
    time::{Clock, Timestamp},
};

use crate::conversations::recordings;
use net::setting::whole;

/// Time that recordings and transcripts of calls are kept, in days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Kept {
    /// Days that recordings are kept [default: forever]
    #[arg(long = "keep-recordings-days", env = "RINGBACK_KEEP_RECORDINGS_DAYS", value_parser = whole(1..=36_500_u32))]
    pub recordings_days: Option<u32>,

    /// Days that transcripts are kept, with collected values and analyses [default: forever]
    #[arg(long = "keep-transcripts-days", env = "RINGBACK_KEEP_TRANSCRIPTS_DAYS", value_parser = whole(2..=36_500_u32))]
    pub transcripts_days: Option<u32>,
}

/// Interval between two runs; data is kept at most this much longer than configured.
const EVERY: Duration = Duration::from_secs(3_600);

/// Days that account events, their deliveries and ended deliveries are kept, so that they can be looked up. No delivery
/// is tried for longer than a week.
const DELIVERIES_DAYS: u32 = 30;

/// Deliveries deleted in one transaction; other writes run in between.
const DELIVERIES: i64 = 200;

/// Hours after which test calls are deleted. Their recordings go earlier: until the row goes, each node has looked for
/// those in its own folder at least once.
const TESTS_HOURS: u32 = 24;
const TEST_RECORDINGS_HOURS: u32 = 22;

/// Test calls deleted in one run.
const TESTS: i64 = 1_000;

/// Calls erased in one transaction, for which other writes wait. A call has some hundred rows and as many words.
const CALLS: i64 = 10;

/// Runs at once and then at intervals until it is dropped. A failed step is tried again at the next run.
pub async fn run(store: Arc<dyn Store>, clock: Arc<dyn Clock>, recordings: PathBuf, kept: Kept) {
    let mut look = tokio::time::interval(EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        let now = clock.now();
        let its = &*store;
        let forgotten = in_batches(|| its.forget_deliveries(earlier(now, DELIVERIES_DAYS), DELIVERIES)).await;
        if let Err(error) = forgotten {
            tracing::warn!(%error, "old deliveries not deleted; trying again in an hour");
        }
        let forgotten = in_batches(|| its.forget_events(earlier(now, DELIVERIES_DAYS), DELIVERIES)).await;
        if let Err(error) = forgotten {
            tracing::warn!(%error, "old account events not deleted; trying again in an hour");
        }
        if let Err(error) = delete_tests(its, &recordings, now).await {
            tracing::warn!(%error, "old test calls not deleted; trying again in an hour");
        }
        if let Some(days) = kept.recordings_days {
            erase_recordings(recordings.clone(), earlier(now, days)).await;
        }
        if let Some(days) = kept.transcripts_days {
            match in_batches(|| its.erase_words(earlier(now, days), CALLS)).await {
                Ok(0) => {}
                Ok(calls) => tracing::info!(calls, days, "old transcripts erased"),
                Err(error) => tracing::warn!(%error, "old transcripts not erased; trying again in an hour"),
            }
        }
    }
}

fn earlier(now: Timestamp, days: u32) -> Timestamp {
    hours_earlier(now, days * 24)
}

fn hours_earlier(now: Timestamp, hours: u32) -> Timestamp {
    Timestamp(now.0 - i64::from(hours) * 3_600 * 1_000_000)
}

/// Deletes old test calls, and their recordings on this node.
async fn delete_tests(store: &dyn Store, recordings: &Path, now: Timestamp) -> StoreResult<()> {
    let tests = store
        .ended_tests(hours_earlier(now, TEST_RECORDINGS_HOURS), TESTS)
        .await?;
    let (folder, calls) = (recordings.to_owned(), tests.clone());
    let erasing = tokio::task::spawn_blocking(move || {
        let mut calls = calls.into_iter();
        calls.try_for_each(|test| recordings::erase(&folder, test.attempt))
    });
    match erasing.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(StoreError::Unavailable(error.to_string())),
        // The panic hook logs a panic in it.
        Err(_) => return Ok(()),
    }
    let before = hours_earlier(now, TESTS_HOURS);
    for test in tests.iter().filter(|test| test.ended_at < before) {
        match store.delete_conversation(test.account, test.attempt).await {
            // Another node deleted it, or its end was written late.
            Ok(()) | Err(StoreError::NotFound | StoreError::Stale) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Repeats a step until it has nothing left to do; each step is a transaction of its own.
async fn in_batches<F: Future<Output = StoreResult<usize>>>(piece: impl Fn() -> F) -> StoreResult<usize> {
    let mut all = 0;
    loop {
        match piece().await? {
            0 => return Ok(all),
            some => all += some,
        }
    }
}

async fn erase_recordings(folder: PathBuf, before: Timestamp) {
    let before = SystemTime::UNIX_EPOCH + before.since(Timestamp(0));
    let erased = tokio::task::spawn_blocking(move || erase_in(&folder, before));
    // The panic hook logs a panic in it.
    let _ = erased.await;
}

fn erase_in(folder: &Path, before: SystemTime) {
    match recordings::erase_older(folder, before) {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "old recordings erased"),
        Err(error) => tracing::warn!(%error, "old recordings not erased; trying again in an hour"),
    }
}
