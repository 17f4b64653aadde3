//! The account of the key: its identity, settings, key, and the secret that signs its webhooks.

use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey, Credential},
    described::common::NoFields,
    request::{
        body::{JsonObject, OptionalBody},
        fields::{Fields, patched},
        optimistic::until_written,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};
use domain::{
    account_settings::AccountSettings,
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
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
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

/// Handles `GET /public/v1/me/settings`.
pub async fn settings(Caller(account): Caller, _: Query<NoParameters>) -> Reply {
    Reply::ok(account.settings)
}

/// Handles `PATCH /public/v1/me/settings`, a merge patch; `null` resets a setting to its default.
pub async fn change_settings(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let before = state.store.account(account.id).await?.settings;
        let merged = patched(json!(before), &patch, &[]);
        let after = read_settings(merged.as_object().unwrap_or(&Map::new()))?;
        let written = state.store.set_account_settings(account.id, before, after).await;
        Ok(written.map(|()| after))
    });
    Ok(Reply::ok(outcome.await?.or_no_such("account")?))
}

fn read_settings(body: &Map<String, Value>) -> ApiResult<AccountSettings> {
    let mut fields = Fields::of(body, "");
    fields.only(&["defaultCountry", "timezone"]);
    let country = fields.string("defaultCountry").map(str::parse);
    let zone = fields.string("timezone").map(|text| {
        let zone = text.parse();
        zone.map_err(|_| format!("`{text:.40}` is not an IANA time zone; write one such as `Europe/Berlin`"))
    });
    let settings = AccountSettings {
        default_country: country.and_then(|country| fields.parsed("defaultCountry", "not_allowed", country)),
        timezone: zone
            .and_then(|zone| fields.parsed("timezone", "not_allowed", zone))
            .unwrap_or_default(),
    };
    fields.end()?;
    Ok(settings)
}

/// Handles `POST /public/v1/me/webhook-secret/rotate`. The old secret stays valid for a day.
pub async fn rotate_webhook_secret(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
    let secret = generate_webhook_secret();
    state.store.rotate_webhook_secret(account.id, secret.clone()).await?;
    Ok(Reply::ok(WebhookSecret { webhook_secret: secret }))
}
