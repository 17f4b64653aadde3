//! Which node holds a call by its row, where its carrier may have brought it to another node meanwhile.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use crate::supervision::contained;
use domain::ports::store::{Claim, Store};

/// How long the store may take to say it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// The pause before it is asked again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Who holds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It is held by this claim, or was until it was over.
    Us,
    /// Somebody else took it: its leg is theirs, also when they are done with it.
    AnotherNode,
    /// The store does not say.
    Unknown,
}

/// Looks once. A row that is older than the claim, or gone, is one of a store that forgot: it says nothing.
pub(crate) async fn owner_of(store: Arc<dyn Store>, claim: Claim) -> Owner {
    let asked = contained(async move { store.last_holder(claim.attempt).await });
    match timeout(ANSWERED_WITHIN, asked).await {
        Ok(Ok(Some(holder))) if holder == claim => Owner::Us,
        Ok(Ok(Some(holder))) if holder.epoch > claim.epoch => Owner::AnotherNode,
        Ok(Ok(_) | Err(_)) | Err(_) => Owner::Unknown,
    }
}

/// Looks again and again, for at most so long.
pub(crate) async fn certain_owner(store: Arc<dyn Store>, claim: Claim, within: Duration) -> Owner {
    let limit = Instant::now() + within;
    loop {
        match owner_of(Arc::clone(&store), claim).await {
            Owner::Unknown if Instant::now() < limit => sleep(AGAIN_AFTER).await,
            known => return known,
        }
    }
}
