//! Accounts and the secrets that sign their deliveries.

pub mod api_keys;
pub mod idempotency;
pub mod sessions;

use domain::{
    account_settings::AccountSettings,
    id::AccountId,
    ports::store::{Account, NewAccount, SECRET_KEPT_US, StoreError, StoreResult, StoredApiKey, WebhookSecrets},
};
use sqlx::any::AnyRow;

use crate::engine::{
    Work,
    rows::{Columns, Fetch, affected, found, unique},
};

pub(super) async fn create(mut work: Work<'_>, new: NewAccount) -> StoreResult<()> {
    sqlx::query("INSERT INTO accounts (id, email, webhook_secret, created_at) VALUES ($1, $2, $3, $4)")
        .bind(new.account.id.to_string())
        .bind(new.account.email)
        .bind(new.webhook_secret)
        .bind(work.now.0)
        .execute(&mut *work.conn)
        .await
        .map_err(unique("email"))?;
    insert_key(&mut work, new.account.id, &new.key).await
}

/// Inserts an account's own key.
pub(super) async fn insert_key(work: &mut Work<'_>, account: AccountId, key: &StoredApiKey) -> StoreResult<()> {
    sqlx::query("INSERT INTO api_keys (hash, prefix, account, created_at) VALUES ($1, $2, $3, $4)")
        .bind(hex::encode(key.hash))
        .bind(key.prefix.clone())
        .bind(account.to_string())
        .bind(work.now.0)
        .execute(&mut *work.conn)
        .await
        .map_err(unique("key"))?;
    Ok(())
}

pub(super) fn read(row: &AnyRow) -> StoreResult<Account> {
    Ok(Account {
        id: row.id("id")?,
        email: row.text("email")?,
        settings: AccountSettings {
            default_country: row.maybe_id("default_country")?,
            timezone: row.id("timezone")?,
        },
    })
}

pub(super) async fn set_settings(
    work: Work<'_>,
    id: AccountId,
    before: AccountSettings,
    after: AccountSettings,
) -> StoreResult<()> {
    let code = |settings: &AccountSettings| settings.default_country.map(|country| country.code().to_owned());
    let update = sqlx::query(
        "UPDATE accounts SET default_country = $1, timezone = $2 \
         WHERE id = $3 AND default_country IS NOT DISTINCT FROM $4 AND timezone = $5",
    )
    .bind(code(&after))
    .bind(after.timezone.name())
    .bind(id.to_string())
    .bind(code(&before))
    .bind(before.timezone.name());
    match affected(update, work.conn).await? {
        0 => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

pub(super) async fn get(work: Work<'_>, id: AccountId) -> StoreResult<Account> {
    let row = sqlx::query("SELECT * FROM accounts WHERE id = $1")
        .bind(id.to_string())
        .existing(work.conn)
        .await?;
    read(&row)
}

pub(super) async fn secrets(work: Work<'_>, id: AccountId) -> StoreResult<WebhookSecrets> {
    let row = sqlx::query(
        "SELECT webhook_secret, CASE WHEN previous_secret_until > $1 THEN previous_webhook_secret END AS previous \
         FROM accounts WHERE id = $2",
    )
    .bind(work.now.0)
    .bind(id.to_string())
    .existing(work.conn)
    .await?;
    Ok(WebhookSecrets {
        current: row.text("webhook_secret")?,
        previous: row.maybe_text("previous")?,
    })
}

pub(super) async fn rotate_secret(work: Work<'_>, id: AccountId, secret: String) -> StoreResult<()> {
    let update = sqlx::query(
        "UPDATE accounts SET previous_webhook_secret = webhook_secret, previous_secret_until = $1, \
         webhook_secret = $2 WHERE id = $3",
    )
    .bind(work.now.0 + SECRET_KEPT_US)
    .bind(secret)
    .bind(id.to_string());
    found(affected(update, work.conn).await?)
}
