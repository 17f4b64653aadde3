//! Whose a call is by its row, where its carrier may have brought it to another node meanwhile.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use crate::supervision::contained;
use domain::ports::store::{Claim, Store};

/// How long the store may take to say it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// The pause before it is asked again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Whose a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// It is held by this claim, or was until it was over.
    Ours,
    /// Somebody else took it: its leg is theirs, also when they are done with it.
    Anothers,
    /// The store does not say.
    NotKnown,
}

/// Looks once. A row that is older than the claim, or gone, is one of a store that forgot: it says nothing.
pub(crate) async fn whose(store: Arc<dyn Store>, claim: Claim) -> Whose {
    let asked = contained(async move { store.last_holder(claim.attempt).await });
    match timeout(ANSWERED_WITHIN, asked).await {
        Ok(Ok(Some(holder))) if holder == claim => Whose::Ours,
        Ok(Ok(Some(holder))) if holder.epoch > claim.epoch => Whose::Anothers,
        Ok(Ok(_) | Err(_)) | Err(_) => Whose::NotKnown,
    }
}

/// Looks again and again, for at most so long.
pub(crate) async fn whose_for_certain(store: Arc<dyn Store>, claim: Claim, within: Duration) -> Whose {
    let limit = Instant::now() + within;
    loop {
        match whose(Arc::clone(&store), claim).await {
            Whose::NotKnown if Instant::now() < limit => sleep(AGAIN_AFTER).await,
            known => return known,
        }
    }
}
