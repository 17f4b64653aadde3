//! The account of the key: its identity, settings, key, and the secret that signs its webhooks.

use axum::extract::State;
use chrono_tz::Tz;
use domain::{
    account_settings::AccountSettings,
    accounts::generate_webhook_secret,
    api_key::{PlainKey, generate_key},
    id::AccountId,
    phone_number::Country,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::{Caller, CallerKey, Credential},
    described::{common::NoFields, operation::Operation, samples},
    request::{
        body::{JsonObject, OptionalBody},
        checked::Checked,
        fields::patched,
        optimistic::until_written,
        query::{NoParameters, Query},
    },
    resources::account::health::Health,
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
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

/// Changes of the settings (RFC 7396). `null` resets one to its default.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingsPatch {
    /// Country by whose plan numbers without `+` are read (ISO 3166, two letters).
    default_country: Option<String>,
    /// Zone of the times in files (IANA).
    timezone: Option<String>,
}

fn read_settings(body: &Map<String, Value>) -> ApiResult<AccountSettings> {
    let mut body = Checked::<SettingsPatch>::of(body);
    body.parse("defaultCountry", |text| match text.parse::<Country>() {
        Ok(country) => Ok(country.code().to_owned()),
        Err(error) => Err(("not_allowed", error.to_string())),
    });
    body.parse("timezone", |text| match text.parse::<Tz>() {
        Ok(zone) => Ok(zone.name().to_owned()),
        Err(_) => Err((
            "not_allowed",
            format!("`{text:.40}` is not an IANA time zone; write one such as `Europe/Berlin`"),
        )),
    });
    let SettingsPatch {
        default_country,
        timezone,
    } = body.end()?;
    Ok(AccountSettings {
        default_country: default_country.and_then(|country| country.parse().ok()),
        timezone: timezone.and_then(|zone| zone.parse().ok()).unwrap_or_default(),
    })
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

/// Returns the operations of the service itself.
pub fn service() -> Vec<Operation> {
    vec![
        Operation::get("/public/health", "health", "Check whether the service is reachable")
            .in_service_document()
            .keyless()
            .ok::<Health>(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
            .fails(503, "unavailable", "the database is not available; try again"),
        Operation::get("/public/openapi.json", "openapi", "Get this description")
            .keyless()
            .raw(
                "200",
                "application/json",
                "The OpenAPI description, without the envelope",
                json!({ "type": "object", "additionalProperties": true }),
                json!({ "openapi": "3.1.0" }),
            ),
    ]
}

/// Returns the operations of the account.
pub fn operations() -> Vec<Operation> {
    let secret = json!({ "webhookSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let sample = json!({ "defaultCountry": "DE", "timezone": "Europe/Berlin" });
    vec![
        Operation::get("/public/v1/me", "me", "Get the account of the key")
            .by(show)
            .in_service_document()
            .ok::<Identity>(json!({ "userId": samples::USER, "email": samples::EMAIL })),
        Operation::post(
            "/public/v1/me/api-key/regenerate",
            "regenerateApiKey",
            "Replace the account's own key",
        )
        .by(regenerate_key)
        .note(
            "The old key stops working at once, and added keys stay. The new one has all scopes and is shown only once. The \
             sessions opened with the old key end, except one that sends this request.",
        )
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ApiKey>(json!({ "apiKey": "rb_3f9c1d2e4b5a69788796a5b4c3d2e1f0" })),
        Operation::get("/public/v1/me/settings", "getSettings", "Read the account's settings")
            .by(settings)
            .ok::<AccountSettings>(sample.clone()),
        Operation::patch("/public/v1/me/settings", "updateSettings", "Change the account's settings")
            .by(change_settings)
            .note("They apply to numbers, files and exports from the response on.")
            .body::<SettingsPatch>(json!({ "nothing": {}, "some": sample }))
            .ok::<AccountSettings>(sample)
            .invalid("defaultCountry", "not_allowed", "`Germany` is not a country; write the two letters of ISO 3166, such as `DE`"),
        Operation::get(
            "/public/v1/me/webhook-secret",
            "webhookSecret",
            "Get the secret that signs webhook deliveries",
        )
        .by(webhook_secret)
        .ok::<WebhookSecret>(secret.clone()),
        Operation::post(
            "/public/v1/me/webhook-secret/rotate",
            "rotateWebhookSecret",
            "Replace the secret that signs webhook deliveries",
        )
        .by(rotate_webhook_secret)
        .note("The old secret stays valid for 24 hours.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<WebhookSecret>(secret),
    ]
}
