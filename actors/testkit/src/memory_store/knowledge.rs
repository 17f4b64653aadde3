//! Documents and groups in memory.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{MemoryStore, tables::Tables};
use domain::{
    agent::referenced_documents,
    id::{AccountId, DocumentId, GroupId},
    ports::store::{
        CREATED, DocumentRow, GroupEdit, GroupRow, HOLDERS_NAMED, Holder, KeyTicket, KnowledgeFilter, KnowledgeStore,
        NewDocument, Removal, StoreError, StoreResult, order_key,
    },
    time::Timestamp,
};

/// A group. Its documents are in a table of their own.
pub(super) struct GroupEntry {
    account: AccountId,
    name: String,
    documents: Vec<DocumentId>,
    created_at: Timestamp,
}

impl Tables {
    /// Checks that everything in the agent document's knowledge base exists.
    pub(super) fn require_knowledge(&self, account: AccountId, document: &Map<String, Value>) -> StoreResult<()> {
        let known = |text: &str| {
            let document = text.parse().ok().and_then(|id| self.documents.get(&id));
            let group = text.parse().ok().and_then(|id| self.groups.get(&id));
            document.is_some_and(|(row, _)| row.account == account)
                || group.is_some_and(|group| group.account == account)
        };
        let all = referenced_documents(document).iter().all(|(_, text)| known(text));
        if all { Ok(()) } else { Err(StoreError::Stale) }
    }

    fn document_of(&self, account: AccountId, id: DocumentId) -> StoreResult<&(DocumentRow, String)> {
        let found = self.documents.get(&id).filter(|(row, _)| row.account == account);
        found.ok_or(StoreError::NotFound)
    }

    fn group_of(&self, account: AccountId, id: GroupId) -> StoreResult<&GroupEntry> {
        let found = self.groups.get(&id).filter(|group| group.account == account);
        found.ok_or(StoreError::NotFound)
    }

    fn group_row(&self, id: GroupId, group: &GroupEntry) -> GroupRow {
        let documents = group.documents.iter().filter_map(|id| self.documents.get(id));
        GroupRow {
            id,
            account: group.account,
            name: group.name.clone(),
            documents: documents.map(|(row, _)| row.clone()).collect(),
            created_at: group.created_at,
        }
    }

    fn require_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<()> {
        let all = ids.iter().all(|id| self.document_of(account, *id).is_ok());
        if all { Ok(()) } else { Err(StoreError::Stale) }
    }

    /// Returns the agents whose document names `id`.
    fn agents_holding(&self, id: &str) -> Vec<Holder> {
        let mut holding: Vec<_> = self.agents.values().collect();
        holding.retain(|row| referenced_documents(&row.document).iter().any(|(_, text)| text == id));
        holding.sort_by_key(|row| row.id);
        let holder = |row: &domain::ports::store::AgentRow| Holder {
            kind: "agent",
            id: row.id.to_string(),
            name: row
                .document
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        };
        holding.into_iter().map(holder).collect()
    }
}

/// Returns the rows of a list: filtered, sorted, after the cursor, limited.
fn listed<T>(
    rows: impl Iterator<Item = T>,
    filter: &KnowledgeFilter,
    limit: i64,
    key: impl Fn(&T) -> (String, String, Timestamp),
) -> Vec<T> {
    let search = filter.search.as_ref().map(|text| text.to_lowercase());
    let mut sorted: Vec<_> = rows
        .filter_map(|row| {
            let (id, name, created_at) = key(&row);
            let wanted = search.as_ref().is_none_or(|text| name.to_lowercase().contains(text));
            wanted.then(|| ((order_key(filter.sort_by, &name, created_at), id), row))
        })
        .collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    if !filter.ascending {
        sorted.reverse();
    }
    let behind = |place: &(String, String)| {
        filter.after.as_ref().is_none_or(|after| {
            let order = place.cmp(&(after.key.clone(), after.id.clone()));
            if filter.ascending { order.is_gt() } else { order.is_lt() }
        })
    };
    let rows = sorted
        .into_iter()
        .filter(|(place, _)| behind(place))
        .map(|(_, row)| row);
    rows.take(usize::try_from(limit).unwrap_or_default()).collect()
}

fn removal(mut holders: Vec<Holder>) -> Removal {
    holders.truncate(HOLDERS_NAMED);
    if holders.is_empty() {
        Removal::Done
    } else {
        Removal::Held(holders)
    }
}

#[async_trait]
impl KnowledgeStore for MemoryStore {
    async fn create_document(
        &self,
        account: AccountId,
        new: NewDocument,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<DocumentRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let row = DocumentRow {
            id: DocumentId::new(),
            account,
            kind: new.kind,
            name: new.name,
            url: new.url,
            characters: i64::try_from(new.text.chars().count()).unwrap_or(i64::MAX),
            created_at: self.now(),
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), row.created_at)?;
        tables.documents.insert(row.id, (row.clone(), new.text));
        Ok(row)
    }

    async fn document(&self, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow> {
        Ok(self.open()?.document_of(account, id)?.0.clone())
    }

    async fn document_text(&self, account: AccountId, id: DocumentId) -> StoreResult<String> {
        Ok(self.open()?.document_of(account, id)?.1.clone())
    }

    async fn documents(
        &self,
        account: AccountId,
        filter: KnowledgeFilter,
        limit: i64,
    ) -> StoreResult<Vec<DocumentRow>> {
        let tables = self.open()?;
        let own = tables.documents.values().map(|(row, _)| row);
        let own = own.filter(|row| row.account == account).cloned();
        let key = |row: &DocumentRow| (row.id.to_string(), row.name.clone(), row.created_at);
        Ok(listed(own, &filter, limit, key))
    }

    async fn known_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<Vec<DocumentId>> {
        let tables = self.open()?;
        let known = ids.iter().filter(|id| tables.document_of(account, **id).is_ok());
        Ok(known.copied().collect())
    }

    async fn delete_document(&self, account: AccountId, id: DocumentId) -> StoreResult<Removal> {
        let mut tables = self.open()?;
        tables.document_of(account, id)?;
        let mut groups: Vec<_> = tables.groups.iter().collect();
        groups.retain(|(_, group)| group.documents.contains(&id));
        groups.sort_by_key(|(id, _)| **id);
        let groups = groups.into_iter().map(|(id, group)| Holder {
            kind: "group",
            id: id.to_string(),
            name: group.name.clone(),
        });
        let holders = groups.chain(tables.agents_holding(&id.to_string())).collect();
        let removal = removal(holders);
        if removal == Removal::Done {
            tables.documents.remove(&id);
        }
        Ok(removal)
    }

    async fn create_group(
        &self,
        account: AccountId,
        name: String,
        documents: Vec<DocumentId>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<GroupRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.require_documents(account, &documents)?;
        let id = GroupId::new();
        let group = GroupEntry {
            account,
            name,
            documents,
            created_at: self.now(),
        };
        tables.settle(ticket, (CREATED, id.to_string()), group.created_at)?;
        let row = tables.group_row(id, &group);
        tables.groups.insert(id, group);
        Ok(row)
    }

    async fn group(&self, account: AccountId, id: GroupId) -> StoreResult<GroupRow> {
        let tables = self.open()?;
        let group = tables.group_of(account, id)?;
        Ok(tables.group_row(id, group))
    }

    async fn groups(&self, account: AccountId, filter: KnowledgeFilter, limit: i64) -> StoreResult<Vec<GroupRow>> {
        let tables = self.open()?;
        let own = tables.groups.iter().filter(|(_, group)| group.account == account);
        let own = own.map(|(id, group)| tables.group_row(*id, group));
        let key = |row: &GroupRow| (row.id.to_string(), row.name.clone(), row.created_at);
        Ok(listed(own, &filter, limit, key))
    }

    async fn known_groups(&self, account: AccountId, ids: &[GroupId]) -> StoreResult<Vec<GroupId>> {
        let tables = self.open()?;
        let known = ids.iter().filter(|id| tables.group_of(account, **id).is_ok());
        Ok(known.copied().collect())
    }

    async fn update_group(&self, account: AccountId, id: GroupId, edit: GroupEdit) -> StoreResult<GroupRow> {
        let mut tables = self.open()?;
        tables.group_of(account, id)?;
        tables.require_documents(account, edit.documents.as_deref().unwrap_or_default())?;
        if let Some(group) = tables.groups.get_mut(&id) {
            group.name = edit.name.unwrap_or_else(|| std::mem::take(&mut group.name));
            group.documents = edit.documents.unwrap_or_else(|| std::mem::take(&mut group.documents));
        }
        let group = tables.group_of(account, id)?;
        Ok(tables.group_row(id, group))
    }

    async fn delete_group(&self, account: AccountId, id: GroupId) -> StoreResult<Removal> {
        let mut tables = self.open()?;
        tables.group_of(account, id)?;
        let removal = removal(tables.agents_holding(&id.to_string()));
        if removal == Removal::Done {
            tables.groups.remove(&id);
        }
        Ok(removal)
    }
}
