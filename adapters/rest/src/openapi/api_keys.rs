//! API keys that an account adds.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::described::{common::Name, operation::Operation, samples};
use crate::resources::account::api_keys::{ApiKeyDeleted, ApiKeyDetails};
use domain::scope::Scope;

/// A key to create.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApiKey {
    /// Name of the key.
    pub name: Name,
    /// Rights of the key; only scopes that the key of the request has.
    #[schema(min_items = 1, max_items = 5)]
    pub scopes: Vec<Scope>,
    /// Time from which the key is refused, in the future; without it, the key stays valid.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// Changes of a key.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKeyPatch {
    /// New name.
    #[schema(required = false)]
    pub name: Name,
    /// New scopes, complete.
    #[schema(required = false, min_items = 1, max_items = 5)]
    pub scopes: Vec<Scope>,
    /// New end, in the future; `null` for none.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

const OWN: &str = "this is the account's own key: it keeps all scopes, so that the other keys can always be managed; \
                   `POST /me/api-key/regenerate` replaces it";

const LACKS: &str = "this API key lacks the scope `write`; use a key that has it";

fn sample() -> Value {
    json!({
        "keyId": samples::API_KEY,
        "name": "dashboard",
        "prefix": "rb_q7XbV2dL",
        "scopes": ["read", "live"],
        "isAccountKey": false,
        "createdAt": "2026-05-04T08:30:00.000000Z",
        "lastUsedAt": "2026-05-05T09:12:07.120000Z",
        "expiresAt": "2027-05-04T00:00:00.000000Z",
    })
}

/// Returns the operations of keys.
pub fn operations() -> Vec<Operation> {
    let mut added = sample();
    added["apiKey"] = json!("rb_q7XbV2dL_3f9c1d2e4b5a69788796a5b4c3d2e1f0");
    vec![
        Operation::get("/public/v1/me/api-keys", "listApiKeys", "List the account's keys")
            .ours()
            .note("Newest first, without the keys themselves.")
            .paged()
            .page::<ApiKeyDetails>(sample()),
        Operation::post("/public/v1/me/api-keys", "createApiKey", "Add a key")
            .ours()
            .note("The key is shown only once. An account has at most 100 added keys.")
            .body::<NewApiKey>(json!({
                "dashboard": { "name": "dashboard", "scopes": ["read", "live"] },
            }))
            .created::<ApiKeyDetails>(added)
            .invalid(
                "expiresAt",
                "out_of_range",
                "must be in the future; it is 2026-05-04T08:30:00.000000Z now",
            )
            .fails(403, "forbidden", LACKS)
            .conflict(
                "conflict",
                "this account already has 100 added keys; delete one that is no longer used",
            ),
        Operation::patch("/public/v1/me/api-keys/{keyId}", "updateApiKey", "Change a key")
            .ours()
            .note("Applies to the next request with the key. A key gives only scopes that it has itself.")
            .body::<ApiKeyPatch>(json!({
                "name": { "name": "wallboard", "scopes": ["read"] },
                "noEnd": { "expiresAt": null },
            }))
            .ok::<ApiKeyDetails>(sample())
            .invalid(
                "scopes[0]",
                "not_allowed",
                "\"root\" is not one of read, calls, live, write, admin",
            )
            .fails(403, "forbidden", LACKS)
            .conflict("in_use", OWN),
        Operation::delete("/public/v1/me/api-keys/{keyId}", "deleteApiKey", "Delete a key")
            .ours()
            .note("The key stops working at once. The sessions opened with it end, except one that sends this request.")
            .ok::<ApiKeyDeleted>(json!({ "keyId": samples::API_KEY, "deleted": true }))
            .conflict("in_use", OWN),
    ]
}
