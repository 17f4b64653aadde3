//! The knowledge base: documents, groups, and references from agents.

mod documents;
mod groups;
mod holding;

use async_trait::async_trait;
use domain::{
    id::{AccountId, DocumentId, GroupId},
    ports::store::{
        DocumentRow, GroupEdit, GroupRow, KeyTicket, KnowledgeFilter, KnowledgeStore, NewDocument, Removal, SortBy,
        StoreError, StoreResult,
    },
};

use crate::engine::{
    SqlStore, Work,
    rows::{AnyQuery, Columns, Conditions, composed, places, unavailable},
};

pub(super) use holding::hold;

/// Ids in one statement.
const CHUNK: usize = 500;

#[async_trait]
impl KnowledgeStore for SqlStore {
    async fn create_document(
        &self,
        account: AccountId,
        new: NewDocument,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<DocumentRow> {
        let ticket = ticket.cloned();
        self.write(move |work| Box::pin(documents::create(work, account, new, ticket)))
            .await
    }

    async fn document(&self, account: AccountId, id: DocumentId) -> StoreResult<DocumentRow> {
        self.read(move |work| Box::pin(documents::get(work, account, id))).await
    }

    async fn document_text(&self, account: AccountId, id: DocumentId) -> StoreResult<String> {
        self.read(move |work| Box::pin(documents::text(work, account, id)))
            .await
    }

    async fn documents(
        &self,
        account: AccountId,
        filter: KnowledgeFilter,
        limit: i64,
    ) -> StoreResult<Vec<DocumentRow>> {
        self.read(move |work| Box::pin(documents::list(work, account, filter, limit)))
            .await
    }

    async fn known_documents(&self, account: AccountId, ids: &[DocumentId]) -> StoreResult<Vec<DocumentId>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |work| Box::pin(known(work, "documents", account, ids)))
            .await
    }

    async fn delete_document(&self, account: AccountId, id: DocumentId) -> StoreResult<Removal> {
        self.change(account, move |work| Box::pin(documents::delete(work, account, id)))
            .await
    }

    async fn create_group(
        &self,
        account: AccountId,
        name: String,
        documents: Vec<DocumentId>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<GroupRow> {
        let ticket = ticket.cloned();
        self.change(account, move |work| {
            Box::pin(groups::create(work, account, (name, documents), ticket))
        })
        .await
    }

    async fn group(&self, account: AccountId, id: GroupId) -> StoreResult<GroupRow> {
        self.read(move |work| Box::pin(groups::get(work, account, id))).await
    }

    async fn groups(&self, account: AccountId, filter: KnowledgeFilter, limit: i64) -> StoreResult<Vec<GroupRow>> {
        self.read(move |work| Box::pin(groups::list(work, account, filter, limit)))
            .await
    }

    async fn known_groups(&self, account: AccountId, ids: &[GroupId]) -> StoreResult<Vec<GroupId>> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.read(move |work| Box::pin(known(work, "document_groups", account, ids)))
            .await
    }

    async fn update_group(&self, account: AccountId, id: GroupId, edit: GroupEdit) -> StoreResult<GroupRow> {
        self.change(account, move |work| Box::pin(groups::update(work, (account, id), edit)))
            .await
    }

    async fn delete_group(&self, account: AccountId, id: GroupId) -> StoreResult<Removal> {
        self.change(account, move |work| Box::pin(groups::delete(work, account, id)))
            .await
    }
}

/// Returns those of `ids` that are rows of this account in `table`.
async fn known<T>(mut work: Work<'_>, table: &'static str, account: AccountId, ids: Vec<String>) -> StoreResult<Vec<T>>
where
    T: std::str::FromStr,
{
    let found = known_texts(&mut work, table, account, &ids).await?;
    let parsed = found
        .iter()
        .map(|id| id.parse().map_err(|_| StoreError::Damaged(format!("id in {table}"))));
    parsed.collect()
}

async fn known_texts(
    work: &mut Work<'_>,
    table: &'static str,
    account: AccountId,
    ids: &[String],
) -> StoreResult<Vec<String>> {
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT id FROM {table} WHERE account = $1 AND id IN ({})",
            places(2, chunk.len())
        );
        let query = composed(sql).bind(account.to_string());
        let query: AnyQuery<'_> = chunk.iter().fold(query, |query, id| query.bind(id.clone()));
        let rows = query.fetch_all(&mut *work.conn).await.map_err(unavailable)?;
        for row in rows {
            found.push(row.text("id")?);
        }
    }
    Ok(found)
}

/// Builds the query for a page of `table`, for [`documents::list`] and [`groups::list`].
fn page<'q>(head: &str, account: AccountId, filter: &KnowledgeFilter, limit: i64) -> StoreResult<AnyQuery<'q>> {
    let mut wanted = Conditions::default();
    wanted.and("account = ?", [account.to_string().into()]);
    if let Some(search) = &filter.search {
        let pattern = format!("%{}%", escaped(&search.to_lowercase()));
        wanted.and("name_folded LIKE ? ESCAPE '!'", [pattern.into()]);
    }
    let (column, comparison, direction) = match (filter.sort_by, filter.ascending) {
        (SortBy::Name, true) => ("name_order", ">", "ASC"),
        (SortBy::Name, false) => ("name_order", "<", "DESC"),
        (SortBy::CreatedAt, true) => ("created_at", ">", "ASC"),
        (SortBy::CreatedAt, false) => ("created_at", "<", "DESC"),
    };
    if let Some(place) = &filter.after {
        let key = match filter.sort_by {
            SortBy::Name => place.key.clone().into(),
            SortBy::CreatedAt => {
                let at = place.created_at();
                at.ok_or_else(|| StoreError::Damaged("cursor of a list has no time".to_owned()))?
                    .0
                    .into()
            }
        };
        wanted.and(
            &format!("({column}, id) {comparison} (?, ?)"),
            [key, place.id.clone().into()],
        );
    }
    let order = format!("ORDER BY {column} {direction}, id {direction}");
    Ok(wanted.query(head, &order, limit))
}

/// Escapes wildcards in a text for `LIKE … ESCAPE '!'`.
fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}
