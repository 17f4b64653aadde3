//! The service itself, and the account of a key.

use crate::described::{common::NoFields, operation::Operation, samples};
use crate::resources::account::{
    health::Health,
    me::{ApiKey, Identity, WebhookSecret},
};
use domain::account_settings::AccountSettings;
use serde_json::json;
use utoipa::ToSchema;

/// Returns the operations of the service itself.
pub fn service() -> Vec<Operation> {
    vec![
        Operation::get("/public/health", "health", "Check whether the service is reachable")
            .keyless()
            .ok::<Health>(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
            .fails(503, "unavailable", "the database is not available; try again"),
        Operation::get("/public/openapi.json", "openapi", "Get this description")
            .ours()
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

/// Changes of the settings (RFC 7396). `null` resets one to its default.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingsPatch {
    /// Country by whose plan numbers without `+` are read (ISO 3166, two letters).
    pub default_country: Option<String>,
    /// Zone of the times in files (IANA).
    pub timezone: Option<String>,
}

/// Returns the operations of the account.
pub fn operations() -> Vec<Operation> {
    let secret = json!({ "webhookSecret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let settings = json!({ "defaultCountry": "DE", "timezone": "Europe/Berlin" });
    vec![
        Operation::get("/public/v1/me", "me", "Get the account of the key")
            .ok::<Identity>(json!({ "userId": samples::USER, "email": samples::EMAIL })),
        Operation::post(
            "/public/v1/me/api-key/regenerate",
            "regenerateApiKey",
            "Replace the account's own key",
        )
        .ours()
        .note(
            "The old key stops working at once, and added keys stay. The new one has all scopes and is shown only once. The \
             sessions opened with the old key end, except one that sends this request.",
        )
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ApiKey>(json!({ "apiKey": "rb_3f9c1d2e4b5a69788796a5b4c3d2e1f0" })),
        Operation::get("/public/v1/me/settings", "getSettings", "Read the account's settings")
            .ours()
            .ok::<AccountSettings>(settings.clone()),
        Operation::patch("/public/v1/me/settings", "updateSettings", "Change the account's settings")
            .ours()
            .note("They apply to numbers, files and exports from the response on.")
            .body::<SettingsPatch>(json!({ "nothing": {}, "some": settings }))
            .ok::<AccountSettings>(settings)
            .invalid("defaultCountry", "not_allowed", "`Germany` is not a country; write the two letters of ISO 3166, such as `DE`"),
        Operation::get(
            "/public/v1/me/webhook-secret",
            "webhookSecret",
            "Get the secret that signs webhook deliveries",
        )
        .ours()
        .ok::<WebhookSecret>(secret.clone()),
        Operation::post(
            "/public/v1/me/webhook-secret/rotate",
            "rotateWebhookSecret",
            "Replace the secret that signs webhook deliveries",
        )
        .ours()
        .note("The old secret stays valid for 24 hours.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<WebhookSecret>(secret),
    ]
}
