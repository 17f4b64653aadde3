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

use crate::described::{bodies, operation::Operation, samples};

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
    .note("Searches the documents as a call does.")
    .body::<search::KnowledgeQuestion>(json!({
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
            .in_service_document()
            .idempotent()
            .body::<document::NewUrlDocument>(
                json!({ "page": { "url": "https://example.com/hours", "name": "Opening hours" } }),
            )
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
            .idempotent()
            .body::<document::NewTextDocument>(
                json!({ "text": { "name": "Prices", "text": "A check-up is 60 euros." } }),
            )
            .created::<Document>(text),
        ),
        linked(
            Operation::post(
                "/public/v1/knowledge-base/documents/file",
                "createFileDocument",
                "Create a document from a file",
            )
            .by(document::from_file)
            .idempotent()
            .form::<bodies::NewFileDocument>(json!({ "text": { "file": "A check-up is 60 euros.", "name": "Prices" } }))
            .created::<Document>(file)
            .invalid("file", "required", "is required"),
        ),
        sorted(
            Operation::get("/public/v1/knowledge-base/documents", "listDocuments", "List documents")
                .by(document::list)
                .in_service_document(),
        )
        .sorted_page::<Document>(samples::document()),
        Operation::get(
            "/public/v1/knowledge-base/documents/{documentId}",
            "getDocument",
            "Read a document",
        )
        .by(document::show)
        .ok::<Document>(samples::document()),
        Operation::get(
            "/public/v1/knowledge-base/documents/{documentId}/text",
            "getDocumentText",
            "Read the text of a document",
        )
        .by(document::text)
        .ok::<DocumentText>(json!({ "documentId": samples::DOCUMENT, "text": "A check-up is 60 euros." })),
        Operation::delete(
            "/public/v1/knowledge-base/documents/{documentId}",
            "deleteDocument",
            "Delete a document",
        )
        .by(document::delete)
        .deletes("DocumentDeleted", "documentId", &json!(samples::DOCUMENT))
        .conflict("in_use", "the group `Practice` holds this document"),
    ]
}

fn groups() -> Vec<Operation> {
    let unknown = "there is no document `0198d1a0-0000-7000-8000-0000000000ff` in this account";
    vec![
        sorted(
            Operation::get("/public/v1/knowledge-base/groups", "listGroups", "List groups")
                .by(group::list)
                .in_service_document(),
        )
        .sorted_page::<Group>(samples::group()),
        Operation::post(
            "/public/v1/knowledge-base/groups",
            "createGroup",
            "Create a group of documents",
        )
        .by(group::create)
        .idempotent()
        .body::<group::NewGroup>(json!({ "empty": { "name": "Practice" } }))
        .created::<Group>(samples::group())
        .link("read", "getGroup", "groupId", "/data/groupId")
        .link("change", "updateGroup", "groupId", "/data/groupId")
        .link("delete", "deleteGroup", "groupId", "/data/groupId")
        .invalid("documentIds[0]", "not_found", unknown),
        Operation::get("/public/v1/knowledge-base/groups/{groupId}", "getGroup", "Read a group")
            .by(group::show)
            .ok::<Group>(samples::group()),
        Operation::patch(
            "/public/v1/knowledge-base/groups/{groupId}",
            "updateGroup",
            "Change a group",
        )
        .by(group::patch)
        .body::<group::GroupPatch>(json!({ "nothing": {}, "some": { "name": "Practice, autumn" } }))
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
        .deletes("GroupDeleted", "groupId", &json!(samples::GROUP))
        .conflict("in_use", "the agent `Ava` holds this group"),
    ]
}
