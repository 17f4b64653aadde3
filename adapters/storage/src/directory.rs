//! The directory part of the store: accounts, agents, contacts.

use std::collections::HashSet;

use async_trait::async_trait;
use domain::{
    account_settings::AccountSettings,
    agent::changed_fields,
    id::{AccountId, AgentId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        AgentFilter, AgentPage, AgentRow, AgentVersion, ContactFilter, ContactRow, DirectoryStore, DoNotCallRow,
        KeyTicket, NewAccount, NewContact, NumberFilter, NumberUse, Removal, StoreError, StoreResult, WebhookSecrets,
    },
    time::Timestamp,
};
use serde_json::{Map, Value};

use crate::{
    accounts,
    agents::{self, agent_holds, agent_versions},
    contacts::{self, do_not_call},
    engine::SqlStore,
};

#[async_trait]
impl DirectoryStore for SqlStore {
    async fn create_account(&self, new: NewAccount) -> StoreResult<()> {
        self.write(move |work| Box::pin(accounts::create(work, new))).await
    }

    async fn webhook_secrets(&self, account: AccountId) -> StoreResult<WebhookSecrets> {
        self.read(move |work| Box::pin(accounts::secrets(work, account))).await
    }

    async fn rotate_webhook_secret(&self, account: AccountId, secret: String) -> StoreResult<()> {
        self.write(move |work| Box::pin(accounts::rotate_secret(work, account, secret)))
            .await
    }

    async fn set_account_settings(
        &self,
        account: AccountId,
        before: AccountSettings,
        after: AccountSettings,
    ) -> StoreResult<()> {
        self.write(move |work| Box::pin(accounts::set_settings(work, account, before, after)))
            .await
    }

    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow> {
        let ticket = ticket.cloned();
        self.change(account, move |work| {
            Box::pin(agents::create(work, account, document, ticket))
        })
        .await
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        self.read(move |work| Box::pin(agents::get(work, account, id))).await
    }

    async fn kept_agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        self.read(move |work| Box::pin(agents::kept(work, account, id))).await
    }

    async fn any_agent(&self, id: AgentId) -> StoreResult<AgentRow> {
        self.read(move |work| Box::pin(agents::any(work, id))).await
    }

    async fn agents(&self, account: AccountId, filter: AgentFilter, limit: i64) -> StoreResult<AgentPage> {
        self.read(move |work| Box::pin(agents::list(work, account, filter, limit)))
            .await
    }

    async fn number_uses(&self, account: AccountId, filter: NumberFilter, limit: i64) -> StoreResult<Vec<NumberUse>> {
        self.read(move |work| Box::pin(agent_holds::uses(work, account, filter, limit)))
            .await
    }

    async fn taken_numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        document: &Map<String, Value>,
    ) -> StoreResult<Vec<PhoneNumber>> {
        let document = document.clone();
        self.read(move |work| Box::pin(agent_holds::taken(work, account, agent, document)))
            .await
    }

    async fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i64>,
        limit: i64,
    ) -> StoreResult<Vec<AgentVersion>> {
        self.read(move |work| Box::pin(agent_versions::list(work, account, id, before, limit)))
            .await
    }

    async fn agent_version(&self, account: AccountId, id: AgentId, version: i64) -> StoreResult<AgentRow> {
        self.read(move |work| Box::pin(agents::in_version(work, account, id, version)))
            .await
    }

    async fn delete_agent(&self, account: AccountId, id: AgentId) -> StoreResult<Removal> {
        self.change(account, move |work| Box::pin(agents::delete(work, account, id)))
            .await
    }

    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow> {
        let before = self.agent(account, id).await?;
        if before.version != version {
            return Err(StoreError::Stale);
        }
        let changed = changed_fields(&before.document, &document);
        let new = AgentRow { document, ..before };
        self.change(account, move |work| Box::pin(agents::update(work, new, changed)))
            .await
    }

    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(contacts::create(work, account, new, ticket)))
            .await
    }

    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
        self.read(move |work| Box::pin(contacts::get(work, account, id))).await
    }

    async fn contacts(&self, account: AccountId, filter: ContactFilter, limit: i64) -> StoreResult<Vec<ContactRow>> {
        self.read(move |work| Box::pin(contacts::list(work, account, filter, limit)))
            .await
    }

    async fn update_contact(
        &self,
        account: AccountId,
        id: ContactId,
        version: i64,
        new: NewContact,
    ) -> StoreResult<ContactRow> {
        self.write(move |work| Box::pin(contacts::update(work, account, id, version, new)))
            .await
    }

    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()> {
        self.write(move |work| Box::pin(contacts::delete(work, account, id)))
            .await
    }

    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<DoNotCallRow> {
        let number = number.clone();
        self.write(move |work| Box::pin(do_not_call::add(work, account, number, None)))
            .await
    }

    async fn opt_out(&self, account: AccountId, number: &PhoneNumber, call: AttemptId) -> StoreResult<()> {
        let number = number.clone();
        let add = self.write(move |work| Box::pin(do_not_call::add(work, account, number, Some(call))));
        add.await.map(drop)
    }

    async fn do_not_call(
        &self,
        account: AccountId,
        search: Option<String>,
        after: Option<(Timestamp, PhoneNumber)>,
        limit: i64,
    ) -> StoreResult<Vec<DoNotCallRow>> {
        self.read(move |work| Box::pin(do_not_call::list(work, account, search, after, limit)))
            .await
    }

    async fn among_do_not_call(
        &self,
        account: AccountId,
        numbers: &[PhoneNumber],
    ) -> StoreResult<HashSet<PhoneNumber>> {
        let numbers = numbers.to_vec();
        self.read(move |work| Box::pin(do_not_call::among(work, account, numbers)))
            .await
    }

    async fn remove_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()> {
        let number = number.clone();
        self.write(move |work| Box::pin(do_not_call::remove(work, account, number)))
            .await
    }
}
