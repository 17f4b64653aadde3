//! Erases recordings and transcripts that are older than the operator wants to keep them, and forgets deliveries that
//! were over long ago.

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

/// For how long what calls leave behind is kept, in days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Kept {
    /// Days recordings are kept [default: for ever]
    #[arg(long = "keep-recordings-days", env = "RINGBACK_KEEP_RECORDINGS_DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub recordings_days: Option<u32>,

    /// Days transcripts are kept, with collected values and analyses [default: for ever]
    #[arg(long = "keep-transcripts-days", env = "RINGBACK_KEEP_TRANSCRIPTS_DAYS", value_parser = clap::value_parser!(u32).range(2..=36_500))]
    pub transcripts_days: Option<u32>,
}

/// How often it looks; nothing is kept for longer than its days and this.
const EVERY: Duration = Duration::from_secs(3_600);

/// Deliveries that are over are kept for so long, for whoever asks what became of one. None is tried for a week.
const DELIVERIES_DAYS: u32 = 30;

/// Calls, or deliveries, erased in one transaction; others write in between.
const BATCH: i64 = 200;

/// Looks at once and then now and then, until it is dropped. What fails is tried again the next time.
pub async fn run(store: Arc<dyn Store>, clock: Arc<dyn Clock>, recordings: PathBuf, kept: Kept) {
    let mut look = tokio::time::interval(EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        let now = clock.now();
        let its = &*store;
        let forgotten = in_batches(|| its.forget_deliveries(earlier(now, DELIVERIES_DAYS), BATCH)).await;
        if let Err(error) = forgotten {
            tracing::warn!(%error, "old deliveries not forgotten; trying again in an hour");
        }
        if let Some(days) = kept.recordings_days {
            erase_recordings(recordings.clone(), earlier(now, days)).await;
        }
        if let Some(days) = kept.transcripts_days {
            match in_batches(|| its.erase_words(earlier(now, days), BATCH)).await {
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

/// Until there is nothing more to do; each piece is a transaction of its own.
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
