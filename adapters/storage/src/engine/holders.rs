//! Rows that other rows refer to: which ones those are, and deletion while there are none.

use domain::ports::store::{HOLDERS_NAMED, Holder, Removal, StoreError, StoreResult};
use sqlx::{AnyConnection, any::AnyRow};

use super::rows::{AnyQuery, Columns, Fetch, affected};

/// Returns the rows that refer to another one. The last value of the query is their maximum number.
pub(crate) async fn holders(
    kind: &'static str,
    query: AnyQuery<'_>,
    conn: &mut AnyConnection,
) -> StoreResult<Vec<Holder>> {
    let query = query.bind(i64::try_from(HOLDERS_NAMED).unwrap_or(i64::MAX));
    let holder = |row: &AnyRow| {
        Ok(Holder {
            kind,
            id: row.text("id")?,
            name: row.text("name")?,
        })
    };
    query.all(conn).await?.iter().map(holder).collect()
}

/// Deletes a row. Returns `NotFound`; `Stale` if another row refers to it since its holders were read.
pub(crate) async fn delete(query: AnyQuery<'_>, conn: &mut AnyConnection) -> StoreResult<Removal> {
    match affected(query, conn).await {
        Err(StoreError::NotFound) => Err(StoreError::Stale),
        Err(other) => Err(other),
        Ok(0) => Err(StoreError::NotFound),
        Ok(_) => Ok(Removal::Done),
    }
}
