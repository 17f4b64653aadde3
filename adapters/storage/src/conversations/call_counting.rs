//! Background job that counts ended calls for analytics. Several nodes may run it at once.

use std::{sync::Arc, time::Duration};

use domain::{
    admission::{Gate, Work},
    analytics,
    ports::store::{Store, StoreError},
    prices::PriceList,
};
use tokio::time::sleep;

/// Calls counted in one transaction; few, so that other writes hardly wait.
const CALLS: i64 = 100;

/// Pause between two batches, so that other work can use the database.
const PAUSE: Duration = Duration::from_millis(10);

/// Interval of checks for further calls.
const EVERY: Duration = Duration::from_secs(5);

/// Runs until it is dropped. It pauses while the node is overloaded.
pub async fn run(store: Arc<dyn Store>, gate: Gate, prices: Option<Arc<PriceList>>) {
    let mut unavailable = false;
    loop {
        let counted = match gate.holds(Work::Analysis) {
            true => Ok(false),
            false => analytics::count(&*store, prices.as_deref(), CALLS).await,
        };
        let pause = match counted {
            Ok(more) => {
                unavailable = false;
                if more { PAUSE } else { EVERY }
            }
            // Another node counts the same calls.
            Err(StoreError::Stale) => EVERY,
            Err(error) => {
                // Logged once, since the store may be unavailable for long.
                if !std::mem::replace(&mut unavailable, true) {
                    tracing::warn!(%error, "ended calls not counted for analytics, trying again");
                }
                EVERY
            }
        };
        sleep(pause).await;
    }
}
