//! The knowledge base: documents, groups, and references from agents.

mod documents;
mod groups;
mod holding;
mod listing;

use async_trait::async_trait;
use domain::{
    id::{AccountId, DocumentId, GroupId},
    ports::store::{
        DocumentRow, GroupEdit, GroupRow, KeyTicket, KnowledgeFilter, KnowledgeStore, NewDocument, Removal, StoreResult,
    },
};

use crate::engine::SqlStore;
use listing::known;

pub(super) use holding::hold;

#[async_trait]
impl KnowledgeStore for SqlStore {
    async fn create_document(
        &self,
        account: AccountId,
        new: NewDocument,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<DocumentRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(documents::create(work, account, new, ticket)))
            .await
    }

    async fn document(&self, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow> {
        self.read(move |work| Box::pin(documents::get(work, account, id))).await
    }

    async fn document_text(&self, account: AccountId, id: DocumentId) -> StoreResult<String> {
        self.read(move |work| Box::pin(documents::text(work, account, id)))
            .await
    }

    async fn documents(
        &self,
        account: AccountId,
        filter: KnowledgeFilter,
        limit: i64,
    ) -> StoreResult<Vec<DocumentRow>> {
        self.read(move |work| Box::pin(documents::list(work, account, filter, limit)))
            .await
    }

    async fn known_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<Vec<DocumentId>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |work| Box::pin(known(work, "documents", account, ids)))
            .await
    }

    async fn delete_document(&self, account: AccountId, id: DocumentId) -> StoreResult<Removal> {
        self.change(account, move |work| Box::pin(documents::delete(work, account, id)))
            .await
    }

    async fn create_group(
        &self,
        account: AccountId,
        name: String,
        documents: Vec<DocumentId>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<GroupRow> {
        let ticket = ticket.cloned();
        self.change(account, move |work| {
            Box::pin(groups::create(work, account, name, documents, ticket))
        })
        .await
    }

    async fn group(&self, account: AccountId, id: GroupId) -> StoreResult<GroupRow> {
        self.read(move |work| Box::pin(groups::get(work, account, id))).await
    }

    async fn groups(&self, account: AccountId, filter: KnowledgeFilter, limit: i64) -> StoreResult<Vec<GroupRow>> {
        self.read(move |work| Box::pin(groups::list(work, account, filter, limit)))
            .await
    }

    async fn known_groups(&self, account: AccountId, ids: &[GroupId]) -> StoreResult<Vec<GroupId>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |work| Box::pin(known(work, "document_groups", account, ids)))
            .await
    }

    async fn update_group(&self, account: AccountId, id: GroupId, edit: GroupEdit) -> StoreResult<GroupRow> {
        self.change(account, move |work| Box::pin(groups::update(work, account, id, edit)))
            .await
    }

    async fn delete_group(&self, account: AccountId, id: GroupId) -> StoreResult<Removal> {
        self.change(account, move |work| Box::pin(groups::delete(work, account, id)))
            .await
    }
}
