//! The knowledge base: documents and groups of documents that agents use in calls.

mod document;
mod group;
mod list;
mod search;
mod upload;
mod view;

pub use search::KnowledgeFound;
pub use view::{Document, DocumentText, Group};

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::described::{common::Name, operation::Operation, samples};

/// A URL to create a document from.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewUrlDocument {
    /// URL: `http` or `https`. Private addresses are refused unless the service allows them.
    #[schema(format = "uri", max_length = 2048, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    pub url: String,
    /// Name of the document.
    pub name: Name,
}

/// A text to create a document from.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTextDocument {
    /// Name of the document.
    pub name: Name,
    /// Content of the document.
    #[schema(pattern = r"\S")]
    pub text: String,
}

/// A file to create a document from.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFileDocument {
    /// File: plain text, Markdown, HTML or PDF.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    pub file: String,
    /// Name of the document; by default that of the file.
    #[schema(required = false)]
    pub name: Name,
}

/// Id of a document.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct DocumentId(pub String);

/// A group to create.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewGroup {
    /// Name of the group.
    pub name: Name,
    /// Documents of the account, without repetition.
    #[schema(max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// Changes of a group. Omitted fields stay unchanged.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupPatch {
    /// New name.
    #[schema(required = false)]
    pub name: Name,
    /// Documents that replace the current ones; `null` empties the group.
    #[schema(max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// A question, and the documents to search: those of an agent, or some.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnowledgeQuestion {
    /// Words as a person may say them.
    #[schema(max_length = 600, pattern = r"\S")]
    pub question: String,
    /// Agent whose documents are searched.
    #[schema(format = "uuid")]
    pub agent_id: Option<String>,
    /// Documents that are searched, without repetition.
    #[schema(max_items = 200)]
    pub document_ids: Option<Vec<DocumentId>>,
}

/// Returns the operations of documents and groups.
pub fn operations() -> Vec<Operation> {
    let mut operations = documents();
    operations.extend(groups());
    operations.push(search());
    operations
}

fn search() -> Operation {
    let passage = json!({
        "documentId": samples::DOCUMENT, "documentName": "Prices", "heading": "Check-ups",
        "text": "A check-up is 60 euros.", "score": 3.271_408, "given": true,
    });
    Operation::post(
        "/public/v1/knowledge-base/search",
        "searchKnowledgeBase",
        "Find the passages that answer a question",
    )
    .by(search::search)
    .ours()
    .note("Searches the documents as a call does.")
    .body::<KnowledgeQuestion>(json!({
        "agent": { "question": "What is a check-up?", "agentId": samples::AGENT },
        "documents": { "question": "What is a check-up?", "documentIds": [samples::DOCUMENT] },
    }))
    .ok::<KnowledgeFound>(json!({ "passages": [passage] }))
    .missing("agent")
}

fn sorted(operation: Operation) -> Operation {
    operation
        .query(
            "search",
            "Text contained in the name, in any case",
            json!({ "type": "string" }),
        )
        .query(
            "sortBy",
            "Sort key",
            json!({ "type": "string", "enum": ["name", "created_at"], "default": "created_at" }),
        )
        .query(
            "sortDirection",
            "Sort direction",
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
                "Create a document from a URL",
            )
            .by(document::from_url)
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
                "Create a document from a text",
            )
            .by(document::from_text)
            .ours()
            .idempotent()
            .body::<NewTextDocument>(json!({ "text": { "name": "Prices", "text": "A check-up is 60 euros." } }))
            .created::<Document>(text),
        ),
        linked(
            Operation::post(
                "/public/v1/knowledge-base/documents/file",
                "createFileDocument",
                "Create a document from a file",
            )
            .by(document::from_file)
            .ours()
            .idempotent()
            .form::<NewFileDocument>(json!({ "text": { "file": "A check-up is 60 euros.", "name": "Prices" } }))
            .created::<Document>(file)
            .invalid("file", "required", "is required"),
        ),
        sorted(
            Operation::get("/public/v1/knowledge-base/documents", "listDocuments", "List documents").by(document::list),
        )
        .sorted_page::<Document>(samples::document()),
        Operation::get(
            "/public/v1/knowledge-base/documents/{documentId}",
            "getDocument",
            "Read a document",
        )
        .by(document::show)
        .ours()
        .ok::<Document>(samples::document()),
        Operation::get(
            "/public/v1/knowledge-base/documents/{documentId}/text",
            "getDocumentText",
            "Read the text of a document",
        )
        .by(document::text)
        .ours()
        .ok::<DocumentText>(json!({ "documentId": samples::DOCUMENT, "text": "A check-up is 60 euros." })),
        Operation::delete(
            "/public/v1/knowledge-base/documents/{documentId}",
            "deleteDocument",
            "Delete a document",
        )
        .by(document::delete)
        .ours()
        .deletes("DocumentDeleted", "documentId", &json!(samples::DOCUMENT))
        .conflict("in_use", "the group `Practice` holds this document"),
    ]
}

fn groups() -> Vec<Operation> {
    let unknown = "there is no document `0198d1a0-0000-7000-8000-0000000000ff` in this account";
    vec![
        sorted(Operation::get("/public/v1/knowledge-base/groups", "listGroups", "List groups").by(group::list))
            .sorted_page::<Group>(samples::group()),
        Operation::post(
            "/public/v1/knowledge-base/groups",
            "createGroup",
            "Create a group of documents",
        )
        .by(group::create)
        .ours()
        .idempotent()
        .body::<NewGroup>(json!({ "empty": { "name": "Practice" } }))
        .created::<Group>(samples::group())
        .link("read", "getGroup", "groupId", "/data/groupId")
        .link("change", "updateGroup", "groupId", "/data/groupId")
        .link("delete", "deleteGroup", "groupId", "/data/groupId")
        .invalid("documentIds[0]", "not_found", unknown),
        Operation::get("/public/v1/knowledge-base/groups/{groupId}", "getGroup", "Read a group")
            .by(group::show)
            .ours()
            .ok::<Group>(samples::group()),
        Operation::patch(
            "/public/v1/knowledge-base/groups/{groupId}",
            "updateGroup",
            "Change a group",
        )
        .by(group::patch)
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
        .by(group::delete)
        .ours()
        .deletes("GroupDeleted", "groupId", &json!(samples::GROUP))
        .conflict("in_use", "the agent `Ava` holds this group"),
    ]
}
