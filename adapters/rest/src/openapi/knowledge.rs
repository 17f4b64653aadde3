//! Documents that agents know, and groups of them.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{common::Name, operation::Operation, samples};
use crate::knowledge_base::{Document, Group};

/// An address to make a document of.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewUrlDocument {
    /// `http` or `https`; private addresses are refused unless the service allows them.
    #[schema(format = "uri", max_length = 2048, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    pub url: String,
    /// Its name.
    pub name: Name,
}

/// A text to make a document of.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTextDocument {
    /// Its name.
    pub name: Name,
    /// The text.
    #[schema(pattern = r"\S")]
    pub text: String,
}

/// A file to make a document of.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFileDocument {
    /// Plain text, Markdown, HTML or PDF.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    pub file: String,
    /// Its name; else the file's.
    #[schema(required = false)]
    pub name: Name,
}

/// A deleted document's id.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDeleted {
    /// The id.
    #[schema(format = "uuid")]
    pub document_id: String,
    /// True.
    pub deleted: bool,
}

/// A document's id.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct DocumentId(pub String);

/// A group to make.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewGroup {
    /// Its name.
    pub name: Name,
    /// Documents of the account, none twice.
    #[schema(max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// Changes of a group; what is left out stays.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupPatch {
    /// Another name.
    #[schema(required = false)]
    pub name: Name,
    /// The documents in place of the present ones; `null` empties the group.
    #[schema(max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// A deleted group's id.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupDeleted {
    /// The id.
    #[schema(format = "uuid")]
    pub group_id: String,
    /// True.
    pub deleted: bool,
}

/// Operations of documents and groups.
pub fn operations() -> Vec<Operation> {
    let mut operations = documents();
    operations.extend(groups());
    operations
}

fn sorted(operation: Operation) -> Operation {
    operation
        .query("search", "Name contains, in any case", json!({ "type": "string" }))
        .query(
            "sortBy",
            "What to sort by",
            json!({ "type": "string", "enum": ["name", "created_at"], "default": "created_at" }),
        )
        .query(
            "sortDirection",
            "Which way",
            json!({ "type": "string", "enum": ["asc", "desc"], "default": "desc" }),
        )
        .paged()
}

fn documents() -> Vec<Operation> {
    let text = json!({ "documentId": samples::DOCUMENT, "type": "text", "name": "Prices", "details": { "textLength": 23 }, "metadata": samples::made() });
    let mut file: Value = text.clone();
    file["type"] = json!("file");
    let linked = |operation: Operation| {
        operation
            .link("read", "getDocument", "documentId", "/data/documentId")
            .link("delete", "deleteDocument", "documentId", "/data/documentId")
    };
    vec![
        linked(
            Operation::post(
                "/public/v1/knowledge-base/documents/url",
                "createUrlDocument",
                "Make a document of an address",
            )
            .idempotent()
            .body::<NewUrlDocument>(json!({ "page": { "url": "https://example.com/hours", "name": "Opening hours" } }))
            .created::<Document>(samples::document())
            .invalid("url", "address_not_allowed", "`http://127.0.0.1/` is a private address")
            .fails(502, "upstream_failed", "https://example.com/hours answered 404"),
        ),
        linked(
            Operation::post(
                "/public/v1/knowledge-base/documents/text",
                "createTextDocument",
                "Make a document of a text",
            )
            .ours()
            .idempotent()
            .body::<NewTextDocument>(json!({ "text": { "name": "Prices", "text": "A check-up is 60 euros." } }))
            .created::<Document>(text),
        ),
        linked(
            Operation::post(
                "/public/v1/knowledge-base/documents/file",
                "createFileDocument",
                "Make a document of a file",
            )
            .ours()
            .idempotent()
            .form::<NewFileDocument>(json!({ "text": { "file": "A check-up is 60 euros.", "name": "Prices" } }))
            .created::<Document>(file)
            .invalid("file", "required", "is required"),
        ),
        sorted(Operation::get(
            "/public/v1/knowledge-base/documents",
            "listDocuments",
            "List documents",
        ))
        .sorted_page::<Document>(samples::document()),
        Operation::get(
            "/public/v1/knowledge-base/documents/{documentId}",
            "getDocument",
            "Read a document",
        )
        .ours()
        .ok::<Document>(samples::document()),
        Operation::delete(
            "/public/v1/knowledge-base/documents/{documentId}",
            "deleteDocument",
            "Delete a document",
        )
        .ours()
        .ok::<DocumentDeleted>(json!({ "documentId": samples::DOCUMENT, "deleted": true }))
        .conflict("in_use", "the group `Practice` holds this document"),
    ]
}

fn groups() -> Vec<Operation> {
    let unknown = "there is no document `0198d1a0-0000-7000-8000-0000000000ff` in this account";
    vec![
        sorted(Operation::get(
            "/public/v1/knowledge-base/groups",
            "listGroups",
            "List groups",
        ))
        .sorted_page::<Group>(samples::group()),
        Operation::post(
            "/public/v1/knowledge-base/groups",
            "createGroup",
            "Make a group of documents",
        )
        .ours()
        .idempotent()
        .body::<NewGroup>(json!({ "empty": { "name": "Practice" } }))
        .created::<Group>(samples::group())
        .link("read", "getGroup", "groupId", "/data/groupId")
        .link("change", "updateGroup", "groupId", "/data/groupId")
        .link("delete", "deleteGroup", "groupId", "/data/groupId")
        .invalid("documentIds[0]", "not_found", unknown),
        Operation::get("/public/v1/knowledge-base/groups/{groupId}", "getGroup", "Read a group")
            .ours()
            .ok::<Group>(samples::group()),
        Operation::patch(
            "/public/v1/knowledge-base/groups/{groupId}",
            "updateGroup",
            "Change a group",
        )
        .ours()
        .body::<GroupPatch>(json!({ "nothing": {}, "some": { "name": "Practice, autumn" } }))
        .ok::<Group>(samples::group())
        .invalid("documentIds[0]", "not_found", unknown)
        .conflict(
            "conflict",
            "it was changed by another request at the same time; read it again",
        ),
        Operation::delete(
            "/public/v1/knowledge-base/groups/{groupId}",
            "deleteGroup",
            "Delete a group",
        )
        .ours()
        .ok::<GroupDeleted>(json!({ "groupId": samples::GROUP, "deleted": true }))
        .conflict("in_use", "the agent `Ava` holds this group"),
    ]
}
