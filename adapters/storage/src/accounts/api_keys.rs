//! API keys. An account's own key is a row of `api_keys`; keys with scopes are rows of `added_api_keys`.

use async_trait::async_trait;
use domain::{
    id::{AccountId, ApiKeyId, SessionId},
    ports::store::{
        ADDED_KEYS, ApiKeyChange, ApiKeyRow, ApiKeyStore, FoundKey, NewApiKey, StoreError, StoreResult, StoredApiKey,
        USE_RECORDED_EVERY_US,
    },
    scope::Scopes,
};
use sqlx::any::AnyRow;

use super::sessions;
use crate::{
    accounts,
    engine::{
        SqlStore, Work, locks,
        rows::{Columns, Fetch, affected, composed, found, unavailable, unique},
    },
};

#[async_trait]
impl ApiKeyStore for SqlStore {
    async fn api_keys(&self, prefix: &str) -> StoreResult<Vec<FoundKey>> {
        let prefix = prefix.to_owned();
        self.read(move |work| Box::pin(with_prefix(work, prefix))).await
    }

    async fn replace_api_key(&self, email: &str, key: StoredApiKey, keep: Option<SessionId>) -> StoreResult<()> {
        let email = email.to_owned();
        self.write(move |work| Box::pin(replace_own(work, email, key, keep)))
            .await
    }

    async fn add_api_key(&self, account: AccountId, new: NewApiKey) -> StoreResult<Option<ApiKeyRow>> {
        self.change(account, move |work| Box::pin(add(work, account, new)))
            .await
    }

    async fn keys_of_account(&self, account: AccountId) -> StoreResult<Vec<ApiKeyRow>> {
        self.read(move |work| Box::pin(of_account(work, account))).await
    }

    async fn change_api_key(&self, account: AccountId, id: ApiKeyId, change: ApiKeyChange) -> StoreResult<ApiKeyRow> {
        self.change(account, move |work| Box::pin(change_added(work, account, id, change)))
            .await
    }

    async fn delete_api_key(&self, account: AccountId, id: ApiKeyId, keep: Option<SessionId>) -> StoreResult<()> {
        self.change(account, move |work| Box::pin(delete_added(work, account, keep, id)))
            .await
    }

    async fn api_key_used(&self, id: ApiKeyId) -> StoreResult<()> {
        self.write(move |work| Box::pin(record_use(work, id))).await
    }
}

/// Columns of both kinds of keys; the scopes of an account's own key are a null.
const ALL: &str = "\
SELECT account, hash, prefix, account AS key_id, '' AS name, CAST(NULL AS TEXT) AS scopes, created_at, \
CAST(NULL AS BIGINT) AS expires_at, last_used_at FROM api_keys \
UNION ALL SELECT account, hash, prefix, id, name, scopes, created_at, expires_at, last_used_at FROM added_api_keys";

async fn with_prefix(work: Work<'_>, prefix: String) -> StoreResult<Vec<FoundKey>> {
    let now = work.now;
    let sql = format!(
        "SELECT a.id, a.email, a.default_country, a.timezone, k.* FROM ({ALL}) k JOIN accounts a ON a.id = k.account \
         WHERE k.prefix = $1"
    );
    let rows = composed(sql).bind(prefix).all(work.conn).await?;
    let found = |row: &AnyRow| {
        let stored = StoredApiKey {
            prefix: row.text("prefix")?,
            hash: unhex(&row.text("hash")?)?,
        };
        Ok(FoundKey {
            stored,
            account: accounts::read(row)?,
            row: read(row)?,
            read_at: now,
        })
    };
    rows.iter().map(found).collect()
}

async fn of_account(work: Work<'_>, account: AccountId) -> StoreResult<Vec<ApiKeyRow>> {
    let sql = format!("SELECT * FROM ({ALL}) k WHERE k.account = $1 ORDER BY k.created_at DESC, k.key_id DESC");
    composed(sql).bind(account.to_string()).read_all(work.conn, read).await
}

fn read(row: &AnyRow) -> StoreResult<ApiKeyRow> {
    let (account, prefix) = (row.id("account")?, row.text("prefix")?);
    let (created_at, last_used_at) = (row.time("created_at")?, row.maybe_time("last_used_at")?);
    let Some(scopes) = row.maybe_text("scopes")? else {
        return Ok(ApiKeyRow::own(account, prefix, created_at, last_used_at));
    };
    Ok(ApiKeyRow {
        id: row.id("key_id")?,
        account,
        name: row.text("name")?,
        prefix,
        scopes: Scopes::from_text(&scopes),
        created_at,
        last_used_at,
        expires_at: row.maybe_time("expires_at")?,
    })
}

fn unhex(text: &str) -> StoreResult<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash)
        .map_err(|_| StoreError::Damaged("column hash is not 64 hex digits".to_owned()))?;
    Ok(hash)
}

async fn replace_own(mut work: Work<'_>, email: String, key: StoredApiKey, keep: Option<SessionId>) -> StoreResult<()> {
    let row = sqlx::query("SELECT * FROM accounts WHERE email = $1")
        .bind(email)
        .existing(&mut *work.conn)
        .await?;
    let account = accounts::read(&row)?;
    locks::before_change(&mut work, account.id).await?;
    sessions::follow_key(&mut work, account.id, keep, &key).await?;
    sqlx::query("DELETE FROM api_keys WHERE account = $1")
        .bind(account.id.to_string())
        .execute(&mut *work.conn)
        .await
        .map_err(unavailable)?;
    accounts::insert_key(&mut work, account.id, &key).await
}

/// Inserts a key unless the account has too many.
async fn add(work: Work<'_>, account: AccountId, new: NewApiKey) -> StoreResult<Option<ApiKeyRow>> {
    let row = ApiKeyRow {
        id: ApiKeyId::new(),
        account,
        name: new.name,
        prefix: new.stored.prefix,
        scopes: new.scopes,
        created_at: work.now,
        last_used_at: None,
        expires_at: new.expires_at,
    };
    let inserted = sqlx::query(
        "INSERT INTO added_api_keys (id, account, name, hash, prefix, scopes, created_at, expires_at) \
         SELECT $1, id, $3, $4, $5, $6, $7, $8 FROM accounts WHERE id = $2 \
         AND (SELECT COUNT(*) FROM added_api_keys WHERE account = $2) < $9",
    )
    .bind(row.id.to_string())
    .bind(account.to_string())
    .bind(row.name.clone())
    .bind(hex::encode(new.stored.hash))
    .bind(row.prefix.clone())
    .bind(row.scopes.to_text())
    .bind(row.created_at.0)
    .bind(row.expires_at.map(|at| at.0))
    .bind(i64::try_from(ADDED_KEYS).unwrap_or(i64::MAX))
    .execute(&mut *work.conn)
    .await
    .map_err(unique("key"))?;
    if inserted.rows_affected() > 0 {
        return Ok(Some(row));
    }
    accounts::get(work, account).await.map(|_| None)
}

async fn change_added(
    mut work: Work<'_>,
    account: AccountId,
    id: ApiKeyId,
    change: ApiKeyChange,
) -> StoreResult<ApiKeyRow> {
    let update = sqlx::query(
        "UPDATE added_api_keys SET name = COALESCE($1, name), scopes = COALESCE($2, scopes), \
         expires_at = CASE WHEN $3 = 1 THEN $4 ELSE expires_at END WHERE id = $5 AND account = $6",
    )
    .bind(change.name)
    .bind(change.scopes.map(|scopes| scopes.to_text()))
    .bind(i64::from(change.expires_at.is_some()))
    .bind(change.expires_at.flatten().map(|at| at.0))
    .bind(id.to_string())
    .bind(account.to_string());
    affected(update, &mut *work.conn).await?;
    let rows = of_account(work.again(), account).await?;
    let changed = rows.into_iter().find(|row| row.id == id && !row.is_own());
    changed.ok_or(StoreError::NotFound)
}

async fn delete_added(
    mut work: Work<'_>,
    account: AccountId,
    keep: Option<SessionId>,
    id: ApiKeyId,
) -> StoreResult<()> {
    sessions::outlive_key(&mut work, account, keep, id).await?;
    let delete = sqlx::query("DELETE FROM added_api_keys WHERE id = $1 AND account = $2")
        .bind(id.to_string())
        .bind(account.to_string());
    found(affected(delete, work.conn).await?)
}

async fn record_use(work: Work<'_>, id: ApiKeyId) -> StoreResult<()> {
    for sql in [
        "UPDATE api_keys SET last_used_at = $1 WHERE account = $2 AND (last_used_at IS NULL OR last_used_at <= $3)",
        "UPDATE added_api_keys SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at <= $3)",
    ] {
        let update = sqlx::query(sql)
            .bind(work.now.0)
            .bind(id.to_string())
            .bind(work.now.0 - USE_RECORDED_EVERY_US);
        affected(update, &mut *work.conn).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{accounts, api_key::generate_key, scope::Scope, time::SystemClock};

    use super::*;

    async fn run(work: Work<'_>, sql: &'static str, value: String) -> StoreResult<u64> {
        let query = sqlx::query(sql).bind(value);
        if !sql.starts_with("SELECT") {
            return affected(query, work.conn).await;
        }
        let rows = query.all(work.conn).await?;
        Ok(rows.len() as u64)
    }

    /// Runs SQL of the release before scopes. Returns the number of rows that it found or changed.
    async fn old(store: &SqlStore, sql: &'static str, value: String) -> u64 {
        let done = store.write(move |work| Box::pin(run(work, sql, value))).await;
        done.unwrap()
    }

    #[tokio::test]
    async fn a_node_of_the_release_before_scopes_refuses_added_keys_and_leaves_them() {
        let store = SqlStore::open("sqlite::memory:", Arc::new(SystemClock)).await.unwrap();
        let made = accounts::create(&store, "ada@example.com").await.unwrap();
        let account: AccountId = made.user_id.parse().unwrap();
        let new = NewApiKey {
            name: "x".to_owned(),
            stored: generate_key().1,
            scopes: [Scope::Read].into_iter().collect(),
            expires_at: None,
        };
        let added = store.add_api_key(account, new.clone()).await.unwrap().unwrap();
        let own = store.keys_of_account(account).await.unwrap().into_iter();
        let own = own.filter(ApiKeyRow::is_own).collect::<Vec<_>>();
        let find =
            "SELECT a.id, a.email, k.hash FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.prefix = $1";
        assert_eq!(old(&store, find, added.prefix.clone()).await, 0);
        assert_eq!(old(&store, find, own[0].prefix.clone()).await, 1);
        let replace = "DELETE FROM api_keys WHERE account = $1";
        assert_eq!(old(&store, replace, account.to_string()).await, 1);
        assert_eq!(store.keys_of_account(account).await, Ok(vec![added]));
    }
}
