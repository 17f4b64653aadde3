//! Queries that documents and groups have in common: which ids an account has, and a page of its list.

use domain::{
    id::AccountId,
    ports::store::{KnowledgeFilter, SortBy, StoreError, StoreResult},
};

use crate::engine::{
    Work,
    rows::{AnyQuery, Columns, Conditions, Fetch, composed, places},
};

/// Ids in one statement.
const CHUNK: usize = 500;

/// Returns those of `ids` that are rows of this account in `table`.
pub(super) async fn known<T>(
    mut work: Work<'_>,
    table: &'static str,
    account: AccountId,
    ids: Vec<String>,
) -> StoreResult<Vec<T>>
where
    T: std::str::FromStr,
{
    let found = known_texts(&mut work, table, account, &ids).await?;
    let parsed = found
        .iter()
        .map(|id| id.parse().map_err(|_| StoreError::Damaged(format!("id in {table}"))));
    parsed.collect()
}

pub(super) async fn known_texts(
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
        let rows = query.all(&mut *work.conn).await?;
        for row in rows {
            found.push(row.text("id")?);
        }
    }
    Ok(found)
}

/// Builds the query for a page of `table`, for [`super::documents::list`] and [`super::groups::list`].
pub(super) fn page<'q>(
    head: &str,
    account: AccountId,
    filter: &KnowledgeFilter,
    limit: i64,
) -> StoreResult<AnyQuery<'q>> {
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
