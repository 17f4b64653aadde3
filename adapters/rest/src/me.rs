//! The account of the key: its identity, its key, and the secret that signs its webhooks.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    RestState,
    auth::{Caller, CallerKey, Credential},
    body::OptionalJsonObject,
    envelope::Reply,
    error::ApiResult,
    fields,
    query::{NoParameters, Query},
};
use domain::{
    accounts::generate_webhook_secret,
    api_key::{PlainKey, generate_key},
    id::AccountId,
};

/// The account that owns the key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Id of the account.
    #[schema(value_type = String, format = "uuid")]
    pub user_id: AccountId,
    /// E-mail address of the account.
    pub email: String,
}

/// A new key, shown only once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// API key.
    pub api_key: String,
}

/// The secret that signs webhook deliveries.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookSecret {
    /// Secret in the format of the Standard Webhooks specification.
    pub webhook_secret: String,
}

/// Handles `GET /public/v1/me`.
pub async fn show(Caller(account): Caller, _: Query<NoParameters>) -> Reply {
    Reply::ok(Identity {
        user_id: account.id,
        email: account.email,
    })
}

/// Handles `POST /public/v1/me/api-key/regenerate`. The old key stops working with the response, and so do the sessions
/// opened with it, except one that asks for this.
pub async fn regenerate_key(
    State(state): State<RestState>,
    Caller(account): Caller,
    caller: CallerKey,
    old: Credential,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    // The account's key has no end.
    caller.require_end(None)?;
    let (plain, stored) = generate_key();
    if let Some(new) = PlainKey::parse(&plain) {
        state.rate_limit.replaced(&old.print(), new.print());
    }
    state
        .store
        .replace_api_key(&account.email, stored, caller.session())
        .await?;
    Ok(Reply::ok(ApiKey { api_key: plain }))
}

/// Handles `GET /public/v1/me/webhook-secret`.
pub async fn webhook_secret(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let secrets = state.store.webhook_secrets(account.id).await?;
    Ok(Reply::ok(WebhookSecret {
        webhook_secret: secrets.current,
    }))
}

/// Handles `POST /public/v1/me/webhook-secret/rotate`. The old secret stays valid for a day.
pub async fn rotate_webhook_secret(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    let secret = generate_webhook_secret();
    state.store.rotate_webhook_secret(account.id, secret.clone()).await?;
    Ok(Reply::ok(WebhookSecret { webhook_secret: secret }))
}
