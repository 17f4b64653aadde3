//! Looks up the node that owns a call according to its row, since the carrier may have moved the call to another node.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use crate::supervision::contained;
use domain::ports::store::{Claim, Store};

/// Time limit for the store's answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// Pause before the store is asked again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Owner of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// This claim owns it, or owned it until the end.
    Us,
    /// Another node took it. The leg belongs to that node, even after its end.
    AnotherNode,
    /// The store does not answer, or has lost data.
    Unknown,
}

/// Looks up the owner once. A row older than the claim, or a missing row, means that the store lost data, so
/// it gives no answer.
pub(crate) async fn owner_of(store: Arc<dyn Store>, claim: Claim) -> Owner {
    let asked = contained(async move { store.last_holder(claim.attempt).await });
    match timeout(ANSWERED_WITHIN, asked).await {
        Ok(Ok(Some(holder))) if holder == claim => Owner::Us,
        Ok(Ok(Some(holder))) if holder.epoch > claim.epoch => Owner::AnotherNode,
        Ok(Ok(_) | Err(_)) | Err(_) => Owner::Unknown,
    }
}

/// Looks up the owner repeatedly for at most `within`.
pub(crate) async fn certain_owner(store: Arc<dyn Store>, claim: Claim, within: Duration) -> Owner {
    let limit = Instant::now() + within;
    loop {
        match owner_of(Arc::clone(&store), claim).await {
            Owner::Unknown if Instant::now() < limit => sleep(AGAIN_AFTER).await,
            known => return known,
        }
    }
}
