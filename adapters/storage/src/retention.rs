//! Erases recordings and transcripts after the configured days, and deletes old account events and deliveries.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use clap::Args;
use domain::{
    ports::store::{Store, StoreResult},
    time::{Clock, Timestamp},
};

use crate::recordings;
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
    Timestamp(now.0 - i64::from(days) * 86_400 * 1_000_000)
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
