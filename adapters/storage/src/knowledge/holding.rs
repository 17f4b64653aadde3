//! References: from agents to documents and groups, and from groups to documents.

use std::collections::BTreeSet;

use domain::{
    agent::referenced_documents,
    id::{DocumentId, GroupId},
    ports::store::{AgentRow, HOLDERS_NAMED, Holder, StoreError, StoreResult},
};

use super::listing::known_texts;
use crate::engine::{
    Work, holders,
    rows::{ROWS_PER_INSERT, affected, composed, insert_rows},
};

/// Reference tables of agents: table, column, and the table of the referenced rows.
const HOLDS: [(&str, &str, &str); 2] = [
    ("agent_documents", "document", "documents"),
    ("agent_groups", "document_group", "document_groups"),
];

/// Stores the references in an agent's document in place of the earlier ones. Returns `Stale` if a referenced
/// row is deleted.
pub(crate) async fn hold(work: &mut Work<'_>, agent: &AgentRow) -> StoreResult<()> {
    let id = agent.id;
    for (table, _, _) in HOLDS {
        let clear = composed(format!("DELETE FROM {table} WHERE agent = $1")).bind(id.to_string());
        affected(clear, work.conn).await?;
    }
    let mut named: BTreeSet<String> = referenced_documents(&agent.document)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    for (table, column, parent) in HOLDS {
        let ids: Vec<String> = named.iter().cloned().collect();
        let known = known_texts(work, parent, agent.account, &ids).await?;
        let found: BTreeSet<&String> = known.iter().collect();
        named.retain(|text| !found.contains(text));
        for chunk in known.chunks(ROWS_PER_INSERT) {
            let head = format!("INSERT INTO {table} (agent, {column}) VALUES");
            let insert = insert_rows(&head, chunk.len(), 2, "");
            let insert = chunk
                .iter()
                .fold(insert, |insert, held| insert.bind(id.to_string()).bind(held.clone()));
            // The referenced row was deleted since it was read.
            affected(insert, work.conn).await.map_err(|error| match error {
                StoreError::NotFound => StoreError::Stale,
                other => other,
            })?;
        }
    }
    if named.is_empty() {
        Ok(())
    } else {
        Err(StoreError::Stale)
    }
}

/// A row that can be referenced.
pub(super) enum Held {
    Document(DocumentId),
    Group(GroupId),
}

/// Returns the agents and groups that reference the row; the list is limited. References of deleted agents
/// are dropped first.
pub(super) async fn held_by(work: &mut Work<'_>, held: Held) -> StoreResult<Vec<Holder>> {
    let (table, column, id) = match &held {
        Held::Document(id) => ("agent_documents", "document", id.to_string()),
        Held::Group(id) => ("agent_groups", "document_group", id.to_string()),
    };
    let release = format!(
        "DELETE FROM {table} WHERE {column} = $1 AND agent IN \
         (SELECT a.id FROM agents a JOIN {table} h ON h.agent = a.id WHERE h.{column} = $1 AND a.deleted_at IS NOT NULL)"
    );
    affected(composed(release).bind(id.clone()), work.conn).await?;
    let mut found = Vec::new();
    if let Held::Document(_) = held {
        let groups = "SELECT g.id, g.name FROM group_documents h JOIN document_groups g ON g.id = h.document_group \
                      WHERE h.document = $1 ORDER BY g.id LIMIT $2";
        let groups = sqlx::query(groups).bind(id.clone());
        found.extend(holders::holders("group", groups, work.conn).await?);
    }
    let agents = format!(
        "SELECT a.id, a.name FROM {table} h JOIN agents a ON a.id = h.agent WHERE h.{column} = $1 \
         ORDER BY a.id LIMIT $2"
    );
    found.extend(holders::holders("agent", composed(agents).bind(id), work.conn).await?);
    found.truncate(HOLDERS_NAMED);
    Ok(found)
}
