//! Documents and groups as clients read them.

use domain::{
    conversation::Made,
    id::{DocumentId, GroupId},
    ports::store::{Account, DocumentKind, DocumentRow, GroupRow},
};
use serde::Serialize;
use utoipa::ToSchema;

/// What there is to say of a document's origin.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDetails {
    /// Of type `url`: the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Characters of its text.
    #[schema(minimum = 0)]
    pub text_length: i64,
}

/// A document.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub document_id: DocumentId,
    /// Where it came from.
    #[serde(rename = "type")]
    pub kind: DocumentKind,
    /// Its name.
    pub name: String,
    /// More of its origin.
    pub details: DocumentDetails,
    /// When it was made.
    pub metadata: Made,
}

/// A group of documents.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub group_id: GroupId,
    /// Its name.
    pub name: String,
    /// Its documents.
    pub documents: Vec<Document>,
    /// When it was made.
    pub metadata: Made,
}

impl Document {
    /// The stored document of the account.
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
    /// The stored group of the account, with its documents.
    pub fn of(row: &GroupRow, account: &Account) -> Self {
        Self {
            group_id: row.id,
            name: row.name.clone(),
            documents: row.documents.iter().map(|row| Document::of(row, account)).collect(),
            metadata: Made::of(account, row.created_at),
        }
    }
}
