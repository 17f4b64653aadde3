//! Browser sessions and login links.

use async_trait::async_trait;
use domain::{
    id::{AccountId, ApiKeyId, SessionId},
    ports::store::{
        Account, FoundSession, LOGIN_LINK_LASTS_US, OpenedWith, SESSION_IDLE_US, SESSION_LASTS_US, SESSIONS,
        SessionRow, SessionStore, StoreError, StoreResult, StoredApiKey, USE_RECORDED_EVERY_US,
    },
    scope::Scopes,
    secret_token::TokenHash,
    time::Timestamp,
};
use sqlx::any::AnyRow;

use crate::{
    accounts,
    engine::{
        SqlStore, Work, locks,
        rows::{AnyQuery, Columns, Fetch, affected, composed, found, places, unique},
    },
};

#[async_trait]
impl SessionStore for SqlStore {
    async fn open_session(&self, token: TokenHash, with: OpenedWith) -> StoreResult<FoundSession> {
        self.write(move |work| Box::pin(open(work, token, with))).await
    }

    async fn session(&self, token: TokenHash) -> StoreResult<Option<FoundSession>> {
        self.read(move |work| Box::pin(with_token(work, token))).await
    }

    async fn sessions_of(&self, account: AccountId) -> StoreResult<Vec<SessionRow>> {
        self.read(move |work| Box::pin(of_account(work, account))).await
    }

    async fn end_session(&self, account: AccountId, id: SessionId) -> StoreResult<()> {
        self.write(move |work| Box::pin(end(work, account, id))).await
    }

    async fn session_used(&self, id: SessionId) -> StoreResult<()> {
        self.write(move |work| Box::pin(record_use(work, id))).await
    }

    async fn add_login_link(&self, email: &str, token: TokenHash) -> StoreResult<()> {
        let email = email.to_owned();
        self.write(move |work| Box::pin(add_link(work, email, token))).await
    }

    async fn first_accounts(&self, limit: i64) -> StoreResult<Vec<Account>> {
        self.read(move |work| Box::pin(first(work, limit))).await
    }
}

/// Sessions that have not ended. A key that is there counts with its present name, scopes and end.
const OPEN: &str = "\
SELECT a.id, a.email, a.default_country, a.timezone, s.id AS session, s.created_at, s.last_used_at, s.expires_at, \
COALESCE(k.name, s.key_name) AS key_name, COALESCE(k.scopes, s.scopes) AS scopes, \
COALESCE(k.expires_at, s.key_expires_at) AS key_expires_at \
FROM sessions s JOIN accounts a ON a.id = s.account \
LEFT JOIN api_keys o ON o.hash = s.key_hash LEFT JOIN added_api_keys k ON k.hash = s.key_hash \
WHERE s.expires_at > $1 AND s.last_used_at > $2 \
AND (s.key_hash IS NULL OR o.hash IS NOT NULL OR k.hash IS NOT NULL) \
AND (k.expires_at IS NULL OR k.expires_at > $1) AND (s.key_expires_at IS NULL OR s.key_expires_at > $1)";

/// Binds the first two values of [`OPEN`].
fn open_ones<'q>(rest: &str, now: Timestamp) -> AnyQuery<'q> {
    composed(format!("{OPEN} {rest}"))
        .bind(now.0)
        .bind(now.0 - SESSION_IDLE_US)
}

fn read(row: &AnyRow) -> StoreResult<SessionRow> {
    Ok(SessionRow {
        id: row.id("session")?,
        account: row.id("id")?,
        key_name: row.maybe_text("key_name")?,
        scopes: Scopes::from_text(&row.text("scopes")?),
        key_expires_at: row.maybe_time("key_expires_at")?,
        created_at: row.time("created_at")?,
        last_used_at: row.time("last_used_at")?,
        expires_at: row.time("expires_at")?,
    })
}

async fn with_token(work: Work<'_>, token: TokenHash) -> StoreResult<Option<FoundSession>> {
    let now = work.now;
    let query = open_ones("AND s.hash = $3", now).bind(hex::encode(token));
    let row = query.optional(work.conn).await?;
    let found = |row: &AnyRow| {
        Ok(FoundSession {
            account: accounts::read(row)?,
            row: read(row)?,
            read_at: now,
        })
    };
    row.as_ref().map(found).transpose()
}

async fn of_account(work: Work<'_>, account: AccountId) -> StoreResult<Vec<SessionRow>> {
    let newest_first = "AND s.account = $3 ORDER BY s.created_at DESC, s.id DESC";
    let query = open_ones(newest_first, work.now).bind(account.to_string());
    query.read_all(work.conn, read).await
}

async fn open(mut work: Work<'_>, token: TokenHash, with: OpenedWith) -> StoreResult<FoundSession> {
    let (account, key, name, scopes) = match with {
        OpenedWith::Key {
            account,
            hash,
            name,
            scopes,
        } => (account, Some(hash), Some(name), scopes),
        OpenedWith::Link(link) => (use_link(&mut work, link).await?, None, None, Scopes::all()),
    };
    locks::before_change(&mut work, account).await?;
    make_room(&mut work, account).await?;
    sqlx::query(
        "INSERT INTO sessions (id, account, hash, key_hash, key_name, scopes, created_at, last_used_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)",
    )
    .bind(SessionId::new().to_string())
    .bind(account.to_string())
    .bind(hex::encode(token))
    .bind(key.map(hex::encode))
    .bind(name)
    .bind(scopes.to_text())
    .bind(work.now.0)
    .bind(work.now.0 + SESSION_LASTS_US)
    .execute(&mut *work.conn)
    .await
    .map_err(unique("session"))?;
    with_token(work, token).await?.ok_or(StoreError::NotFound)
}

/// Uses up a login link and returns its account. Of two transactions that delete the row, one finds it.
async fn use_link(work: &mut Work<'_>, link: TokenHash) -> StoreResult<AccountId> {
    let row = sqlx::query("SELECT account FROM login_links WHERE hash = $1 AND expires_at > $2")
        .bind(hex::encode(link))
        .bind(work.now.0)
        .existing(&mut *work.conn)
        .await?;
    let account = row.id("account")?;
    let delete = sqlx::query("DELETE FROM login_links WHERE hash = $1").bind(hex::encode(link));
    found(affected(delete, &mut *work.conn).await?)?;
    Ok(account)
}

/// Deletes the account's sessions that have ended, and the oldest ones so that one more may be added.
async fn make_room(work: &mut Work<'_>, account: AccountId) -> StoreResult<()> {
    let open = of_account(work.again(), account).await?;
    let kept: Vec<String> = open.iter().take(SESSIONS - 1).map(|row| row.id.to_string()).collect();
    // The list must not be empty, and the account's id is no session's.
    let sql = format!(
        "DELETE FROM sessions WHERE account = $1 AND id NOT IN ($1{}{})",
        if kept.is_empty() { "" } else { ", " },
        places(2, kept.len())
    );
    let delete = composed(sql).bind(account.to_string());
    let delete = kept.into_iter().fold(delete, AnyQuery::bind);
    affected(delete, &mut *work.conn).await.map(drop)
}

async fn end(mut work: Work<'_>, account: AccountId, id: SessionId) -> StoreResult<()> {
    let open = of_account(work.again(), account).await?;
    if !open.iter().any(|row| row.id == id) {
        return Err(StoreError::NotFound);
    }
    let delete = sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id.to_string());
    found(affected(delete, work.conn).await?)
}

async fn record_use(work: Work<'_>, id: SessionId) -> StoreResult<()> {
    // A late record does not revive a session that has ended meanwhile.
    let update =
        sqlx::query("UPDATE sessions SET last_used_at = $1 WHERE id = $2 AND last_used_at <= $3 AND last_used_at > $4")
            .bind(work.now.0)
            .bind(id.to_string())
            .bind(work.now.0 - USE_RECORDED_EVERY_US)
            .bind(work.now.0 - SESSION_IDLE_US);
    affected(update, work.conn).await.map(drop)
}

async fn add_link(work: Work<'_>, email: String, token: TokenHash) -> StoreResult<()> {
    let delete = sqlx::query("DELETE FROM login_links WHERE expires_at <= $1").bind(work.now.0);
    affected(delete, &mut *work.conn).await?;
    let insert = sqlx::query(
        "INSERT INTO login_links (hash, account, expires_at) SELECT $1, id, $2 FROM accounts WHERE email = $3",
    )
    .bind(hex::encode(token))
    .bind(work.now.0 + LOGIN_LINK_LASTS_US)
    .bind(email);
    found(affected(insert, work.conn).await?)
}

async fn first(work: Work<'_>, limit: i64) -> StoreResult<Vec<Account>> {
    sqlx::query("SELECT * FROM accounts ORDER BY created_at, id LIMIT $1")
        .bind(limit)
        .read_all(work.conn, accounts::read)
        .await
}

/// Lets the session `keep` go on with the new key of the account, if it was opened with the one that is replaced.
pub(crate) async fn follow_key(
    work: &mut Work<'_>,
    account: AccountId,
    keep: Option<SessionId>,
    new: &StoredApiKey,
) -> StoreResult<()> {
    let Some(keep) = keep else { return Ok(()) };
    let update = sqlx::query(
        "UPDATE sessions SET key_hash = $1 WHERE id = $2 AND key_hash IN (SELECT hash FROM api_keys WHERE account = $3)",
    )
    .bind(hex::encode(new.hash))
    .bind(keep.to_string())
    .bind(account.to_string());
    affected(update, &mut *work.conn).await.map(drop)
}

/// Lets the session `keep` go on without the added key that is deleted, if it was opened with that key.
pub(crate) async fn outlive_key(
    work: &mut Work<'_>,
    account: AccountId,
    keep: Option<SessionId>,
    key: ApiKeyId,
) -> StoreResult<()> {
    let Some(keep) = keep else { return Ok(()) };
    let update = sqlx::query(
        "UPDATE sessions SET key_hash = NULL, \
         key_name = (SELECT name FROM added_api_keys WHERE id = $1), \
         scopes = (SELECT scopes FROM added_api_keys WHERE id = $1), \
         key_expires_at = (SELECT expires_at FROM added_api_keys WHERE id = $1) \
         WHERE id = $2 AND key_hash = (SELECT hash FROM added_api_keys WHERE id = $1 AND account = $3)",
    )
    .bind(key.to_string())
    .bind(keep.to_string())
    .bind(account.to_string());
    affected(update, &mut *work.conn).await.map(drop)
}
