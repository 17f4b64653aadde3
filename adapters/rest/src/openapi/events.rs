//! The requests that Ringback sends: events to webhook endpoints, and results of calls to their agent's webhook.

use std::collections::BTreeMap;

use domain::ports::store::{AccountEventType, WEBHOOK_TEST};
use serde_json::{Value, json};

use crate::{described::samples, request::schemas::flat};

/// Returns the requests, for `webhooks` of the description.
pub fn webhooks() -> Value {
    json!({
        "accountEvent": { "post": request(
            "An event, to a webhook endpoint",
            "A 410 disables the endpoint.",
            "AccountEvent",
            &samples::event(),
        ) },
        "postCall": { "post": request(
            "A call whose analysis is stored, to `platformSettings.callActions.postCallWebhook` of its agent",
            "",
            "PostCall",
            &result(),
        ) },
    })
}

fn request(summary: &str, answer: &str, schema: &str, example: &Value) -> Value {
    let header = |name: &str, text: &str| json!({ "name": name, "in": "header", "required": true, "description": text, "schema": { "type": "string" } });
    json!({
        "summary": summary,
        "security": [],
        "parameters": [
            header("webhook-id", "Id of the delivery, the same in each try"),
            header("webhook-timestamp", "Time of the try in seconds (Unix)"),
            header("webhook-signature", "Signatures by the specification of Standard Webhooks, separated by spaces"),
        ],
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": { "$ref": format!("#/components/schemas/{schema}") },
            "example": example,
        } } },
        "responses": {
            "2XX": { "description": "It has arrived." },
            "default": { "description": format!("It is sent again later. {answer}").trim_end() },
        },
    })
}

fn result() -> Value {
    let mut result = samples::conversation();
    result["contact"] = json!({ "phoneNumber": samples::PHONE, "name": "Maria", "contactId": samples::CONTACT });
    json!({ "type": "post_call", "timestamp": samples::AT, "data": result })
}

/// Returns the schemas of the requests' bodies; `all` has those of which they consist.
pub fn schemas(all: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let id = || json!({ "type": "string", "format": "uuid" });
    let text = || json!({ "type": "string" });
    let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let types = |group: &str| {
        let types = AccountEventType::ALL.map(AccountEventType::as_str);
        types
            .into_iter()
            .filter(|one| one.starts_with(group))
            .collect::<Vec<_>>()
    };
    let body = |about: &str, types: &[&str], data: Value| {
        json!({
            "type": "object",
            "description": about,
            "required": ["type", "timestamp", "data"],
            "properties": {
                "type": { "type": "string", "enum": types },
                "timestamp": { "type": "string", "format": "date-time", "description": "Time of the event" },
                "data": data,
            },
        })
    };
    let data = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "properties": properties });
    let of_call = data(
        &["conversationId", "agentId", "direction", "contactName", "variables"],
        json!({
            "conversationId": id(),
            "campaignId": id(),
            "agentId": id(),
            "direction": named("CallDirection"),
            "contactName": { "type": ["string", "null"] },
            "variables": { "type": ["object", "null"], "additionalProperties": true },
            "status": named("ConversationStatus"),
            "conversationDuration": { "type": "integer", "description": "Seconds from the answer to the end" },
            "voiceMailDetected": { "type": "boolean" },
            "callTransferred": { "type": "boolean" },
            "errorMessage": { "type": "string", "description": "Kind of the error" },
        }),
    );
    let of_campaign = data(
        &["campaignId", "agentId", "status"],
        json!({
            "campaignId": id(),
            "agentId": id(),
            "status": named("CampaignStatus"),
            "previousStatus": named("CampaignStatus"),
            "reason": text(),
        }),
    );
    let of_contact = data(
        &[],
        json!({ "contactId": id(), "conversationId": id(), "campaignId": id(), "agentId": id() }),
    );
    let contact =
        json!({ "type": "object", "description": "The callee with its fields", "additionalProperties": true });
    let of_result = json!({ "allOf": [named("Conversation"), data(&["contact"], json!({ "contact": contact }))] });
    let parts = [
        "AccountCallEvent",
        "AccountCampaignEvent",
        "ContactOptedOutEvent",
        "WebhookTest",
    ];
    BTreeMap::from(
        [
            (
                parts[0],
                body(
                    "An event of a call. The fields from `status` on are those of its end.",
                    &types("call."),
                    of_call,
                ),
            ),
            (
                parts[1],
                body("A change of a campaign's status.", &types("campaign."), of_campaign),
            ),
            (
                parts[2],
                body(
                    "A number was added to the do-not-call list.",
                    &types("contact."),
                    of_contact,
                ),
            ),
            (
                parts[3],
                body(
                    "A test of an endpoint.",
                    &[WEBHOOK_TEST],
                    data(&["webhookId"], json!({ "webhookId": id() })),
                ),
            ),
            (
                "AccountEvent",
                json!({ "description": "An event of the account.", "oneOf": parts.map(named) }),
            ),
            (
                "PostCall",
                body("The result of a call.", &["post_call"], flat(&of_result, all)),
            ),
        ]
        .map(|(name, schema)| (name.to_owned(), schema)),
    )
}
