//! The knowledge base: documents, groups of documents, and who holds them.

use async_trait::async_trait;
use serde::Serialize;

use super::{KeyTicket, StoreResult};
use crate::{
    id::{AccountId, DocumentId, GroupId},
    time::Timestamp,
};

/// Where a document came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DocumentType)]
pub enum DocumentKind {
    /// Fetched from an address.
    Url,
    /// Given as text.
    Text,
    /// Uploaded.
    File,
}

spelled!(DocumentKind, Url "url", Text "text", File "file");

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its id.
    pub id: DocumentId,
    /// Its owner.
    pub account: AccountId,
    /// Where it came from.
    pub kind: DocumentKind,
    /// For people; not unique.
    pub name: String,
    /// The address it was fetched from, as it was given.
    pub url: Option<String>,
    /// Characters of its text.
    pub characters: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What is needed to make a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Where it came from.
    pub kind: DocumentKind,
    /// For people.
    pub name: String,
    /// The address it was fetched from.
    pub url: Option<String>,
    /// Its text, without U+0000.
    pub text: String,
}

/// A group with its documents in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow {
    /// Its id.
    pub id: GroupId,
    /// Its owner.
    pub account: AccountId,
    /// For people; not unique.
    pub name: String,
    /// Its documents in the order they were given, none twice.
    pub documents: Vec<DocumentRow>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What changes in a group; `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupEdit {
    /// Its name.
    pub name: Option<String>,
    /// Its documents.
    pub documents: Option<Vec<DocumentId>>,
}

/// What a list is sorted by; the id decides between equals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The name in lower case, by its UTF-8 bytes.
    Name,
    /// The instant of creation.
    #[default]
    CreatedAt,
}

/// Which documents or groups to list, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnowledgeFilter {
    /// The name contains this, in any case.
    pub search: Option<String>,
    /// Order.
    pub sort_by: SortBy,
    /// Smallest first.
    pub ascending: bool,
    /// Behind this place of the order: the cursor.
    pub after: Option<ListPlace>,
}

/// A place in the order of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPlace {
    /// What [`order_key`] gave for the item there.
    pub key: String,
    /// Its id.
    pub id: String,
}

impl ListPlace {
    /// The instant behind the key of a list that is sorted by creation; none if it is no such key.
    pub fn created_at(&self) -> Option<Timestamp> {
        i64::from_str_radix(&self.key, 16).ok().map(Timestamp)
    }
}

/// A text whose bytes sort as names, or as instants from 1970 on, do, also where a database sorts by a language's
/// rules: it has no characters but the digits and `a` to `f`.
pub fn order_key(by: SortBy, name: &str, created_at: Timestamp) -> String {
    match by {
        SortBy::Name => name_order(name),
        SortBy::CreatedAt => format!("{:016x}", created_at.0.max(0)),
    }
}

/// The name in lower case, in hex.
pub fn name_order(name: &str) -> String {
    hex::encode(name.to_lowercase())
}

/// Somebody who holds a document, a group, a tool or an agent, so that it cannot be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// `group`, `agent`, `campaign` or `call`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// What became of a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Done,
    /// Some of those who hold it, [`HOLDERS_NAMED`] at most, groups first; nothing was deleted.
    Held(Vec<Holder>),
}

/// Holders that a refused delete names, at most.
pub const HOLDERS_NAMED: usize = 10;

/// Documents, groups.
#[async_trait]
pub trait KnowledgeStore: Send + Sync {
    /// Makes a document with its text. `NotFound` when there is no such account.
    async fn create_document(
        &self,
        account: AccountId,
        new: NewDocument,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<DocumentRow>;

    /// One document. `NotFound`.
    async fn document(&self, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow>;

    /// The text of a document. `NotFound`.
    async fn document_text(&self, account: AccountId, id: DocumentId) -> StoreResult<String>;

    /// The account's documents in the filter's order, at most `limit`.
    async fn documents(&self, account: AccountId, filter: KnowledgeFilter, limit: i64)
    -> StoreResult<Vec<DocumentRow>>;

    /// Those of `ids` that are documents of the account, in any order.
    async fn known_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<Vec<DocumentId>>;

    /// Deletes a document that no group and no agent holds. `NotFound`; `Stale` when it came to be held meanwhile.
    async fn delete_document(&self, account: AccountId, id: DocumentId) -> StoreResult<Removal>;

    /// Makes a group. `NotFound` when there is no such account, `Stale` when one of the documents is gone.
    async fn create_group(
        &self,
        account: AccountId,
        name: String,
        documents: Vec<DocumentId>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<GroupRow>;

    /// One group. `NotFound`.
    async fn group(&self, account: AccountId, id: GroupId) -> StoreResult<GroupRow>;

    /// The account's groups in the filter's order, at most `limit`.
    async fn groups(&self, account: AccountId, filter: KnowledgeFilter, limit: i64) -> StoreResult<Vec<GroupRow>>;

    /// Those of `ids` that are groups of the account, in any order.
    async fn known_groups(&self, account: AccountId, ids: &[GroupId]) -> StoreResult<Vec<GroupId>>;

    /// Changes a group. `NotFound`; `Stale` when one of the documents is gone.
    async fn update_group(&self, account: AccountId, id: GroupId, edit: GroupEdit) -> StoreResult<GroupRow>;

    /// Deletes a group that no agent holds; its documents stay. `NotFound`; `Stale` when it came to be held
    /// meanwhile.
    async fn delete_group(&self, account: AccountId, id: GroupId) -> StoreResult<Removal>;
}
