//! The knowledge base: documents, groups of documents, and references to them.

use async_trait::async_trait;
use serde::Serialize;

use super::{error::StoreResult, idempotency::KeyTicket};
use crate::{
    id::{AccountId, DocumentId, GroupId},
    time::Timestamp,
};

/// Source of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DocumentType)]
pub enum DocumentKind {
    /// Fetched from a URL.
    Url,
    /// Sent as text.
    Text,
    /// Uploaded as a file.
    File,
}

spelled!(DocumentKind, Url "url", Text "text", File "file");

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Id of the document.
    pub id: DocumentId,
    /// Account that owns the document.
    pub account: AccountId,
    /// Source.
    pub kind: DocumentKind,
    /// Name for people; not unique.
    pub name: String,
    /// URL it was fetched from, as given.
    pub url: Option<String>,
    /// Length of its text, in characters.
    pub characters: i64,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// Values of a new document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Source.
    pub kind: DocumentKind,
    /// Name for people.
    pub name: String,
    /// URL it was fetched from.
    pub url: Option<String>,
    /// Its text, without U+0000.
    pub text: String,
}

/// A group with its documents in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow {
    /// Id of the group.
    pub id: GroupId,
    /// Account that owns the group.
    pub account: AccountId,
    /// Name for people; not unique.
    pub name: String,
    /// Documents in the order they were given, without duplicates.
    pub documents: Vec<DocumentRow>,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// Changes of a group; `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupEdit {
    /// New name.
    pub name: Option<String>,
    /// New documents, which replace the old ones.
    pub documents: Option<Vec<DocumentId>>,
}

/// Sort key of a list; the id decides between equal keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Name in lower case, by its UTF-8 bytes.
    Name,
    /// Time of creation.
    #[default]
    CreatedAt,
}

/// Filter and order of a list of documents or groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnowledgeFilter {
    /// Text that the name contains, in any case.
    pub search: Option<String>,
    /// Sort key.
    pub sort_by: SortBy,
    /// Whether the smallest comes first.
    pub ascending: bool,
    /// The cursor: list only items after this position.
    pub after: Option<ListPlace>,
}

/// A position in the order of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPlace {
    /// The item's key from [`order_key`].
    pub key: String,
    /// The item's id.
    pub id: String,
}

impl ListPlace {
    /// Returns the time in the key of a list sorted by creation; none if the key is of another kind.
    pub fn created_at(&self) -> Option<Timestamp> {
        i64::from_str_radix(&self.key, 16).ok().map(Timestamp)
    }
}

/// Returns a text whose bytes sort like names, or like times from 1970 on. It contains only digits and `a` to
/// `f`, so a database that sorts by a language's rules gives the same order.
pub fn order_key(by: SortBy, name: &str, created_at: Timestamp) -> String {
    match by {
        SortBy::Name => name_order(name),
        SortBy::CreatedAt => format!("{:016x}", created_at.0.max(0)),
    }
}

/// Returns the name in lower case, in hex.
pub fn name_order(name: &str) -> String {
    hex::encode(name.to_lowercase())
}

/// A row that references a document, a group, a tool or an agent, which therefore cannot be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// `group`, `agent`, `campaign` or `call`.
    pub kind: &'static str,
    /// Id of the row that references it.
    pub id: String,
    /// Name of that row.
    pub name: String,
}

/// Result of a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// The row was deleted.
    Done,
    /// Nothing was deleted. Contains some of the references, at most [`HOLDERS_NAMED`], groups first.
    Held(Vec<Holder>),
}

/// Most references that a refused delete names.
pub const HOLDERS_NAMED: usize = 10;

/// Documents and groups.
#[async_trait]
pub trait KnowledgeStore: Send + Sync {
    /// Creates a document with its text. Returns `NotFound` if there is no such account.
    async fn create_document(
        &self,
        account: AccountId,
        new: NewDocument,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<DocumentRow>;

    /// Returns a document. Returns `NotFound`.
    async fn document(&self, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow>;

    /// Returns the text of a document. Returns `NotFound`.
    async fn document_text(&self, account: AccountId, id: DocumentId) -> StoreResult<String>;

    /// Returns the account's documents in the filter's order, at most `limit`.
    async fn documents(&self, account: AccountId, filter: KnowledgeFilter, limit: i64)
    -> StoreResult<Vec<DocumentRow>>;

    /// Returns those of `ids` that are documents of the account, in any order.
    async fn known_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<Vec<DocumentId>>;

    /// Deletes a document that no group and no agent references. Returns `NotFound`; `Stale` if a reference
    /// was added meanwhile.
    async fn delete_document(&self, account: AccountId, id: DocumentId) -> StoreResult<Removal>;

    /// Creates a group. Returns `NotFound` if there is no such account, `Stale` if one of the documents is deleted.
    async fn create_group(
        &self,
        account: AccountId,
        name: String,
        documents: Vec<DocumentId>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<GroupRow>;

    /// Returns a group. Returns `NotFound`.
    async fn group(&self, account: AccountId, id: GroupId) -> StoreResult<GroupRow>;

    /// Returns the account's groups in the filter's order, at most `limit`.
    async fn groups(&self, account: AccountId, filter: KnowledgeFilter, limit: i64) -> StoreResult<Vec<GroupRow>>;

    /// Returns those of `ids` that are groups of the account, in any order.
    async fn known_groups(&self, account: AccountId, ids: &[GroupId]) -> StoreResult<Vec<GroupId>>;

    /// Changes a group. Returns `NotFound`; `Stale` if one of the documents is deleted.
    async fn update_group(&self, account: AccountId, id: GroupId, edit: GroupEdit) -> StoreResult<GroupRow>;

    /// Deletes a group that no agent references; its documents stay. Returns `NotFound`; `Stale` if a
    /// reference was added meanwhile.
    async fn delete_group(&self, account: AccountId, id: GroupId) -> StoreResult<Removal>;
}
