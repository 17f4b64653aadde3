//! Background job that notes ended calls for filters and searches: calls without an analysis, and calls that an older
//! version analysed.

use std::{sync::Arc, time::Duration};

use domain::{
    admission::{Gate, Work},
    id::AttemptId,
    ports::store::{EndPlace, Store},
    time::Timestamp,
};
use tokio::time::{Instant, sleep};

/// Calls examined at a time.
const CALLS: i64 = 100;

/// Pause between two batches, so that other work can use the database.
const PAUSE: Duration = Duration::from_millis(10);

/// Interval of checks for further calls.
const EVERY: Duration = Duration::from_secs(5);

/// Interval after which the job starts again at the oldest call, to find ends that were written late.
const AGAIN_EVERY: Duration = Duration::from_secs(3_600);

const BEGINNING: EndPlace = (Timestamp(i64::MIN), AttemptId::FIRST);

/// Runs until it is dropped. It pauses while the node is overloaded.
pub async fn run(store: Arc<dyn Store>, gate: Gate) {
    let (mut after, mut begun) = (BEGINNING, Instant::now());
    let mut unavailable = false;
    loop {
        if begun.elapsed() >= AGAIN_EVERY {
            (after, begun) = (BEGINNING, Instant::now());
        }
        let looked = match gate.holds(Work::Analysis) {
            true => Ok(None),
            false => store.note_calls(after, CALLS).await,
        };
        let pause = match looked {
            Ok(Some(reached)) => {
                (after, unavailable) = (reached, false);
                PAUSE
            }
            Ok(None) => EVERY,
            Err(error) => {
                // Logged once, since the store may be unavailable for long.
                if !std::mem::replace(&mut unavailable, true) {
                    tracing::warn!(%error, "calls not noted for searches, trying again");
                }
                EVERY
            }
        };
        sleep(pause).await;
    }
}
