//! Saves a campaign: first as a hidden import in small transactions, then visible with one commit. The import
//! is removed if it fails or the client disconnects.

use std::sync::Arc;

use domain::{
    campaign_options::CampaignOptions,
    id::{AccountId, CampaignId},
    ports::store::{CampaignContact, CampaignRow, FollowUp, KeyTicket, NewCampaign, ScheduleText, Store, StoreResult},
};
use tokio::sync::Semaphore;

use crate::{
    response::error::{ApiError, ApiResult, OrNoSuch},
    state::RestState,
};

/// Contacts per transaction.
pub const CHUNK: usize = 2_000;

/// Permit to append a chunk. The store writes in order of requests: chunks of many imports at once would
/// delay a pause or a dial, but one chunk at a time does not delay them for long.
static TURN: Semaphore = Semaphore::const_new(1);

/// An import in progress. It is abandoned if it is dropped unfinished.
pub struct Import {
    store: Arc<dyn Store>,
    id: Option<CampaignId>,
}

impl Import {
    /// Begins an import. A disconnecting client does not interrupt this, so that the import can always be abandoned.
    pub async fn begin(store: Arc<dyn Store>, account: AccountId, new: NewCampaign) -> ApiResult<Self> {
        let begun = tokio::spawn(async move {
            let id = store.begin_import(account, new).await?;
            Ok::<_, ApiError>(Self { store, id: Some(id) })
        });
        begun.await.map_err(|_| ApiError::Internal)?
    }

    /// Appends at most [`CHUNK`] contacts.
    pub async fn append(&self, contacts: &[CampaignContact]) -> StoreResult<()> {
        // The semaphore is never closed.
        let _turn = TURN.acquire().await.ok();
        match self.id {
            Some(id) => self.store.append_contacts(id, contacts).await,
            None => Ok(()),
        }
    }

    /// Returns the hidden campaign with the contacts, for a commit that takes them over.
    pub fn campaign(&self) -> Option<CampaignId> {
        self.id
    }

    /// Begins a hidden import whose contacts another campaign takes over.
    pub async fn hidden(state: &RestState, row: &CampaignRow) -> ApiResult<Self> {
        let new = NewCampaign {
            name: row.name.clone(),
            agent: row.agent,
            schedule: ScheduleText::default(),
            follow_up: FollowUp::default(),
            options: CampaignOptions::default(),
        };
        Self::begin(state.store.clone(), row.account, new).await
    }

    /// Marks the contacts as taken over by another campaign: nothing is left to abandon.
    pub fn taken(mut self) {
        self.id.take();
    }

    /// Makes the campaign visible, and settles the idempotency key of its request.
    pub async fn finish(mut self, ticket: Option<&KeyTicket>) -> ApiResult<CampaignRow> {
        let ticket = ticket.cloned();
        let finished = tokio::spawn(async move {
            let id = self.id.ok_or(ApiError::Internal)?;
            let finished = self.store.finish_import(id, ticket.as_ref()).await;
            if finished.is_ok() {
                self.id.take();
            }
            finished.or_no_such("agent")
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
                tracing::warn!(campaign = %id, %error, "abandoned import not removed");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use domain::{
        agent,
        id::AgentId,
        ports::store::{Account, CampaignStore, DirectoryStore, NewAccount},
        time::SystemClock,
    };
    use serde_json::json;
    use testkit::memory_store::MemoryStore;

    use super::*;
    use domain::api_key::generate_key;

    async fn store() -> (Arc<MemoryStore>, AccountId, AgentId) {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let account = Account::new("a@b.co");
        let new = NewAccount {
            account: account.clone(),
            webhook_secret: String::new(),
            key: generate_key().1,
        };
        store.create_account(new).await.unwrap();
        let document = json!({ "name": "a", "conversationConfig": { "agent": { "prompt": { "prompt": "p" } } } });
        let agent = store
            .create_agent(account.id, agent::validate_create(&document).unwrap(), None)
            .await
            .unwrap();
        (store, account.id, agent.id)
    }

    async fn begun(store: &Arc<MemoryStore>, account: AccountId, agent: AgentId) -> Import {
        let new = NewCampaign {
            name: "c".into(),
            agent,
            schedule: ScheduleText::default(),
            follow_up: FollowUp::default(),
            options: CampaignOptions::default(),
        };
        Import::begin(store.clone(), account, new).await.unwrap()
    }

    #[tokio::test]
    async fn an_import_that_is_dropped_is_abandoned() {
        let (store, account, agent) = store().await;
        let import = begun(&store, account, agent).await;
        import.append(&[]).await.unwrap();
        drop(import);
        tokio::task::yield_now().await;
        assert_eq!(store.sweep_imports().await, Ok(0));
    }

    #[tokio::test]
    async fn a_finished_import_stays() {
        let (store, account, agent) = store().await;
        let row = begun(&store, account, agent).await.finish(None).await.unwrap();
        tokio::task::yield_now().await;
        assert!(store.campaign(account, row.id).await.is_ok());
    }
}
