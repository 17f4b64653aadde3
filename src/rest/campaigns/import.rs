//! Saving a campaign: under a hidden import in small transactions, visible in one commit, gone again when it fails or
//! the client goes away.

use std::sync::Arc;

use actors::{
    id::{AccountId, CampaignId},
    ports::store::{CampaignContact, CampaignRow, NewCampaign, Store, StoreResult},
};

use crate::rest::error::{ApiError, ApiResult};

/// Contacts of one transaction.
pub const CHUNK: usize = 2_000;

/// An import in progress. Dropped unfinished, it is abandoned.
pub struct Import {
    store: Arc<dyn Store>,
    id: Option<CampaignId>,
}

impl Import {
    /// Begins one. Not interrupted by a client that goes away: what was begun is there to be abandoned.
    pub async fn begin(store: Arc<dyn Store>, account: AccountId, new: NewCampaign) -> ApiResult<Self> {
        let begun = tokio::spawn(async move {
            let id = store.begin_import(account, new).await?;
            Ok::<_, ApiError>(Self { store, id: Some(id) })
        });
        begun.await.map_err(|_| ApiError::Internal)?
    }

    /// Appends at most [`CHUNK`] contacts.
    pub async fn append(&self, contacts: &[CampaignContact]) -> StoreResult<()> {
        match self.id {
            Some(id) => self.store.append_contacts(id, contacts).await,
            None => Ok(()),
        }
    }

    /// Makes the campaign visible.
    pub async fn finish(mut self) -> ApiResult<CampaignRow> {
        let finished = tokio::spawn(async move {
            let id = self.id.ok_or(ApiError::Internal)?;
            let finished = self.store.finish_import(id).await;
            if finished.is_ok() {
                self.id.take();
            }
            Ok(finished?)
        });
        finished.await.map_err(|_| ApiError::Internal)?
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let store = Arc::clone(&self.store);
        runtime.spawn(async move {
            if let Err(error) = store.abandon_import(id).await {
                tracing::warn!(campaign = %id, %error, "an abandoned import stays until the next start");
            }
        });
    }
}
