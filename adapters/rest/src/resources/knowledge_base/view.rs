//! Documents and groups in responses.

use domain::{
    conversation::Made,
    id::{DocumentId, GroupId},
    ports::store::{Account, DocumentKind, DocumentRow, GroupRow},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Details of a document's origin.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDetails {
    /// URL of a document of type `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Characters of the text.
    #[schema(minimum = 0)]
    pub text_length: i64,
}

/// A document of the knowledge base.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Id of the document.
    #[schema(value_type = String, format = "uuid")]
    pub document_id: DocumentId,
    /// Origin of the document.
    #[serde(rename = "type")]
    pub kind: DocumentKind,
    /// Name of the document.
    pub name: String,
    /// Details of the origin.
    pub details: DocumentDetails,
    /// When and by whom the document was created.
    pub metadata: Made,
}

/// Text of a document as agents read it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentText {
    /// Id of the document.
    #[schema(value_type = String, format = "uuid")]
    pub document_id: DocumentId,
    /// The whole text.
    pub text: String,
}

/// A group of documents.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Id of the group.
    #[schema(value_type = String, format = "uuid")]
    pub group_id: GroupId,
    /// Name of the group.
    pub name: String,
    /// Documents of the group.
    pub documents: Vec<Document>,
    /// When and by whom the group was created.
    pub metadata: Made,
}

impl Document {
    /// Converts a stored document of the account.
    pub fn of(row: &DocumentRow, account: &Account) -> Self {
        Self {
            document_id: row.id,
            kind: row.kind,
            name: row.name.clone(),
            details: DocumentDetails {
                url: row.url.clone(),
                text_length: row.characters,
            },
            metadata: Made::of(account, row.created_at),
        }
    }
}

impl Group {
    /// Converts a stored group of the account, with its documents.
    pub fn of(row: &GroupRow, account: &Account) -> Self {
        Self {
            group_id: row.id,
            name: row.name.clone(),
            documents: row.documents.iter().map(|row| Document::of(row, account)).collect(),
            metadata: Made::of(account, row.created_at),
        }
    }
}
