//! Documents and groups as clients read them.

use domain::{
    ports::store::{Account, DocumentRow, GroupRow},
    time::Timestamp,
};
use serde_json::{Value, json};

/// A document.
pub fn document(row: &DocumentRow, account: &Account) -> Value {
    let mut details = json!({});
    if let Some(url) = &row.url {
        details["url"] = Value::from(url.as_str());
    }
    details["textLength"] = Value::from(row.characters);
    json!({
        "documentId": row.id,
        "type": row.kind.as_str(),
        "name": row.name,
        "details": details,
        "metadata": metadata(row.created_at, account),
    })
}

/// A group with its documents.
pub fn group(row: &GroupRow, account: &Account) -> Value {
    let documents: Vec<Value> = row.documents.iter().map(|row| document(row, account)).collect();
    json!({
        "groupId": row.id,
        "name": row.name,
        "documents": documents,
        "metadata": metadata(row.created_at, account),
    })
}

fn metadata(created_at: Timestamp, account: &Account) -> Value {
    json!({
        "createdAt": created_at.to_iso8601(),
        "createdBy": { "userId": account.id, "userEmail": account.email },
    })
}
