//! Account events and webhook endpoints.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{campaign_types::NoFields, events, operation::Operation, samples, tools::ToolUrl};
use crate::resources::account::webhooks::{EndpointSecret, ShownDelivery, ShownWebhook, WebhookDeleted};

/// A type of events, a group such as `call.*`, or `*`.
#[derive(ToSchema)]
#[schema(
    pattern = r"^(\*|call\.(\*|started|answered|ended|analysed)|campaign\.(\*|draft|waiting|running|paused|stopped|completed|failed|delayed)|contact\.(\*|opted_out))$",
    example = "call.ended"
)]
pub struct EventTypePattern(pub String);

/// A webhook endpoint to create.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhook {
    /// URL that receives the events.
    pub url: ToolUrl,
    /// Description for people.
    #[schema(max_length = 500)]
    pub description: Option<String>,
    /// Types of events that it receives; all by default.
    #[schema(min_items = 1, max_items = 30)]
    pub types: Option<Vec<EventTypePattern>>,
    /// Whether it receives events; true by default.
    pub enabled: Option<bool>,
}

/// Changes of a webhook endpoint (RFC 7396).
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookPatch {
    /// New URL.
    #[schema(required = false)]
    pub url: ToolUrl,
    /// New description.
    #[schema(max_length = 500)]
    pub description: Option<String>,
    /// New types.
    #[schema(min_items = 1, max_items = 30)]
    pub types: Option<Vec<EventTypePattern>>,
    /// Whether it receives events. Disabling it gives up its pending deliveries.
    pub enabled: Option<bool>,
}

fn webhook(secret: Option<&str>) -> Value {
    let mut webhook = json!({
        "webhookId": samples::WEBHOOK,
        "url": "https://example.com/events",
        "description": "Dashboard",
        "types": ["call.*", "campaign.completed"],
        "enabled": true,
        "recent": { "succeeded": 41, "failed": 0, "pending": 1 },
        "metadata": { "createdAt": samples::AT, "updatedAt": samples::AT },
    });
    if let Some(secret) = secret {
        webhook["secret"] = json!(secret);
        webhook["recent"]["succeeded"] = json!(0);
        webhook["recent"]["pending"] = json!(0);
    }
    webhook
}

fn delivery() -> Value {
    json!({
        "deliveryId": samples::DELIVERY,
        "type": "call.ended",
        "eventId": samples::EVENT,
        "state": "pending",
        "attempts": 1,
        "lastError": "the receiver answered 500",
        "responseBody": "the queue is full",
        "nextTryAt": "2026-06-01T07:00:05.000000Z",
        "body": events::example(),
        "createdAt": samples::AT,
    })
}

fn test() -> Value {
    json!({
        "deliveryId": samples::DELIVERY,
        "type": "webhook.test",
        "state": "pending",
        "attempts": 0,
        "nextTryAt": samples::AT,
        "createdAt": samples::AT,
    })
}

/// Returns the operations of account events and webhook endpoints.
pub fn operations() -> Vec<Operation> {
    let one = "/public/v1/webhooks/{webhookId}";
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let least = json!({ "url": "https://example.com/events" });
    let more = json!({ "url": "https://example.com/events", "description": "Dashboard",
                       "types": ["call.*", "campaign.completed"], "enabled": true });
    let disabled = "this webhook is disabled; set `enabled` to true first";
    vec![
        stream(),
        Operation::get("/public/v1/webhooks", "listWebhooks", "List webhooks, newest first")
            .ours()
            .paged()
            .page::<ShownWebhook>(webhook(None)),
        Operation::post("/public/v1/webhooks", "createWebhook", "Create a webhook")
            .ours()
            .note("Only this answer shows the secret that signs the deliveries; a replay does not.")
            .idempotent()
            .body::<NewWebhook>(json!({ "least": least, "more": more }))
            .versioned()
            .created::<ShownWebhook>(webhook(Some(secret)))
            .link("read", "getWebhook", "webhookId", "/data/webhookId")
            .link("change", "updateWebhook", "webhookId", "/data/webhookId")
            .link("delete", "deleteWebhook", "webhookId", "/data/webhookId")
            .conflict("conflict", "an account has at most 20 webhooks; delete one first")
            .invalid("url", "address_not_allowed", "10.0.0.1 is not a public address"),
        Operation::get(one, "getWebhook", "Read a webhook")
            .ours()
            .versioned()
            .ok::<ShownWebhook>(webhook(None)),
        Operation::patch(one, "updateWebhook", "Change a webhook")
            .ours()
            .body::<WebhookPatch>(json!({ "nothing": {}, "some": { "enabled": true } }))
            .versioned()
            .ok::<ShownWebhook>(webhook(None))
            .invalid("url", "address_not_allowed", "10.0.0.1 is not a public address"),
        Operation::delete(one, "deleteWebhook", "Delete a webhook and its deliveries")
            .ours()
            .ok::<WebhookDeleted>(json!({ "webhookId": samples::WEBHOOK, "deleted": true })),
        Operation::post(
            "/public/v1/webhooks/{webhookId}/rotate-secret",
            "rotateWebhookEndpointSecret",
            "Replace the secret of a webhook",
        )
        .ours()
        .note("The old secret stays valid for 24 hours.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<EndpointSecret>(json!({ "secret": secret })),
        Operation::post(
            "/public/v1/webhooks/{webhookId}/test",
            "testWebhook",
            "Send a test event",
        )
        .ours()
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ShownDelivery>(test())
        .conflict("conflict", disabled),
        Operation::get(
            "/public/v1/webhooks/{webhookId}/deliveries",
            "listWebhookDeliveries",
            "List the deliveries to a webhook, newest first",
        )
        .ours()
        .paged()
        .page::<ShownDelivery>(delivery()),
        Operation::post(
            "/public/v1/webhooks/{webhookId}/deliveries/{deliveryId}/resend",
            "resendWebhookDelivery",
            "Send a delivery again",
        )
        .ours()
        .note("It keeps its `webhook-id`, and its tries are counted anew.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ShownDelivery>(delivery())
        .conflict("conflict", disabled),
    ]
}

fn stream() -> Operation {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let example = format!(
        "event: call.ended\nid: 4711.{}\ndata: {}\n\n",
        samples::EVENT,
        events::example()
    );
    Operation::get("/public/v1/events", "accountEvents", "Get the events of the account")
        .ours()
        .note(
            "Server-sent events, beginning with the next one; the data of each is an `AccountEvent`. With \
             `Last-Event-ID`, beginning after that event. Events are kept for 30 days.",
        )
        .query("campaignId", "Only events of this campaign and its calls", uuid())
        .query("agentId", "Only events of this agent's calls and campaigns", uuid())
        .query(
            "type",
            "Only events of these types, separated by commas: types, groups such as `call.*`, or `*`",
            json!({ "type": "string", "example": "call.ended,campaign.*" }),
        )
        .header(
            "Last-Event-ID",
            "`id` of the last event that the client has, as it came",
        )
        .raw(
            "200",
            "text/event-stream",
            "Endless stream of events",
            json!({ "type": "string" }),
            json!(example),
        )
        .invalid(
            "campaignId",
            "not_found",
            "there is nothing with this id in this account",
        )
}
