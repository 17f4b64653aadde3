//! Values of the examples.

use domain::agent;
use serde_json::{Map, Value, json};

/// Id of a request.
pub const REQUEST: &str = "4f0c6a1e-6f0b-4c0e-9a53-3b1d4e0a7c55";
/// Id of an account.
pub const USER: &str = "0198d1a0-0000-7000-8000-000000000001";
/// E-mail address of an account.
pub const EMAIL: &str = "ada@example.com";
/// Id of an agent.
pub const AGENT: &str = "0198d1a0-0000-7000-8000-00000000000a";
/// Id of a campaign.
pub const CAMPAIGN: &str = "0198d1a0-0000-7000-8000-00000000000b";
/// Id of a contact.
pub const CONTACT: &str = "0198d1a0-0000-7000-8000-00000000000c";
/// Id of a conversation.
pub const CONVERSATION: &str = "0198d1a0-0000-7000-8000-00000000000d";
/// Id of a document.
pub const DOCUMENT: &str = "0198d1a0-0000-7000-8000-00000000000e";
/// Id of a group.
pub const GROUP: &str = "0198d1a0-0000-7000-8000-00000000000f";
/// Id of a tool.
pub const TOOL: &str = "0198d1a0-0000-7000-8000-000000000010";
/// Id of a transfer rule.
pub const TRANSFER_RULE: &str = "0198d1a0-0000-7000-8000-000000000011";
/// Id of a webhook endpoint.
pub const WEBHOOK: &str = "0198d1a0-0000-7000-8000-000000000012";
/// Id of a delivery.
pub const DELIVERY: &str = "0198d1a0-0000-7000-8000-000000000013";
/// Id of an event.
pub const EVENT: &str = "0198d1a0-0000-7000-8000-000000000014";
/// Id of an API key.
pub const API_KEY: &str = "0198d1a0-0000-7000-8000-000000000015";
/// Id of a session.
pub const SESSION: &str = "0198d1a0-0000-7000-8000-000000000016";
/// Id of an appointment.
pub const APPOINTMENT: &str = "0198d1a0-0000-7000-8000-000000000017";
/// Secret of a webhook endpoint.
pub const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// A stored phone number.
pub const PHONE: &str = "+15550100010";
/// A point in time.
pub const AT: &str = "2026-06-01T07:00:00.000000Z";

/// Returns the address of the media socket of a call.
pub fn media_url() -> String {
    let proof = "0b9c".repeat(16);
    format!("wss://calls.example.com/carriers/plain/media/{CONVERSATION}.{proof}")
}

/// Returns when and by whom something was created.
pub fn made() -> Value {
    json!({ "createdAt": AT, "createdBy": { "userId": USER, "userEmail": EMAIL } })
}

/// Returns the body that creates an agent.
pub fn new_agent() -> Value {
    json!({
        "name": "Ava",
        "tags": ["dental"],
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are Ava from Greenfield Dental. You book check-ups.",
                    "builtInTools": { "endCall": { "enabled": true } }
                },
                "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental.",
            },
            "turn": { "turnEagerness": "normal" },
        },
        "platformSettings": {
            "dataCollection": {
                "entities": { "preferredDay": { "type": "string", "description": "preferred day for a visit" } },
            },
        },
    })
}

/// Returns the smallest body that creates an agent.
pub fn least_agent() -> Value {
    json!({ "name": "Ava", "conversationConfig": { "agent": { "prompt": { "prompt": "You book check-ups." } } } })
}

/// Returns the agent in a response.
pub fn agent() -> Value {
    let mut shown = Map::new();
    shown.insert("agentId".into(), json!(AGENT));
    // The sample is valid; a test passes it through the validator.
    let complete = agent::validate_create(&new_agent())
        .ok()
        .and_then(|document| agent::complete(&document).ok())
        .unwrap_or_default();
    if let Ok(Value::Object(fields)) = serde_json::to_value(complete) {
        shown.extend(fields);
    }
    let mut metadata = made();
    metadata["updatedAt"] = json!(AT);
    shown.insert("metadata".into(), metadata);
    Value::Object(shown)
}

/// Returns a saved contact.
pub fn contact() -> Value {
    json!({
        "contactId": CONTACT,
        "phoneNumber": PHONE,
        "name": "Maria",
        "email": "maria@example.com",
        "city": "Lisbon",
        "metadata": { "createdAt": AT },
    })
}

/// Returns a contact of a campaign.
pub fn campaign_contact() -> Value {
    json!({ "phoneNumber": PHONE, "name": "Maria", "persona": "cooperative", "contactId": null })
}

/// Returns a campaign without contacts.
pub fn campaign() -> Value {
    json!({
        "campaignId": CAMPAIGN,
        "name": "Check-ups",
        "agentId": AGENT,
        "active": true,
        "scheduled": false,
        "startTime": null,
        "endTime": null,
        "timezone": null,
        "nextRunAt": null,
        "status": "running",
        "startIndex": 0,
        "contactCount": 1,
        "followUp": { "enabled": false, "attempts": 0, "intervalsMinutes": [] },
        "metadata": { "createdAt": AT, "updatedAt": AT, "deletedAt": null },
    })
}

/// Returns a campaign with contacts and progress.
pub fn campaign_detail() -> Value {
    let mut campaign = campaign();
    campaign["progress"] = progress();
    campaign["pacing"] = json!({ "dialsPerMinute": 4.2, "expectedEnd": null });
    campaign["contacts"] = json!([campaign_contact()]);
    campaign
}

/// Returns the progress of a campaign.
pub fn progress() -> Value {
    json!({ "pending": 0, "inProgress": 1, "completed": 0, "failed": 0, "cancelled": 0, "voicemail": 0 })
}

/// Returns an item in the list of conversations.
pub fn conversation_item() -> Value {
    json!({
        "conversationId": CONVERSATION,
        "agentId": AGENT,
        "agentVersion": 3,
        "agentName": "Ava",
        "campaignId": CAMPAIGN,
        "status": "completed",
        "direction": "outbound",
        "contactNumber": PHONE,
        "contactName": "Maria",
        "variables": { "city": "Lisbon" },
        "callerNumber": "+15550000001",
        "startTimeUnix": 1_780_297_200,
        "endTimeUnix": 1_780_297_231,
        "conversationDuration": 28,
        "voiceMailDetected": false,
        "callTransferred": false,
        "summary": "Ava spoke with the contact and learned preferredDay: Tuesday.",
        "sentiment": { "sentiment_overall": "positive" },
        "latencyP50Ms": 760,
        "cost": {
            "currency": "USD",
            "total": "0.0003248",
            "parts": [
                { "what": "openai/gpt-4.1-mini", "unit": "inputTokens", "quantity": "812", "amount": "0.0003248" },
            ],
            "unpriced": [{ "what": "carrier/simulated", "unit": "seconds", "quantity": "28" }],
        },
        "metadata": made(),
    })
}

/// Returns a complete conversation.
pub fn conversation() -> Value {
    let mut shown = conversation_item();
    let more = json!({
        "transcript": "Agent: Hello Maria, this is Ava from Greenfield Dental.\nUser: Tuesday, please.",
        "sentiment": {
            "sentiment_score": 0.3,
            "sentiment_by_turn": [
                { "text": "Tuesday, please.", "sentiment_label": "positive", "speaker": "user", "sentiment_score": 0.3 },
            ],
            "sentiment_overall": "positive",
        },
        "keyMoments": [
            { "text": "Tuesday, please.", "label": "collected preferredDay", "speaker": "user", "timestamp": "00:12" },
        ],
        "appointmentScheduled": {},
        "dataCollected": {
            "entity": "preferredDay",
            "value": "Tuesday",
            "items": [{ "entity": "preferredDay", "value": "Tuesday", "type": "string", "confirmed": true,
                         "evidence": { "turn": 1, "quote": "Tuesday, please." } }],
        },
        "carrier": "simulated",
        "usage": { "openai": { "inputTokens": 812, "models": { "gpt-4.1-mini": { "inputTokens": 812 } } } },
    });
    if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
        shown.extend(more);
    }
    shown
}

/// Returns a turn of a conversation.
pub fn turn() -> Value {
    json!({
        "number": 2,
        "speaker": "agent",
        "words": "On Tuesday we have",
        "startMs": 9_300,
        "endMs": 10_700,
        "interrupted": true,
        "intended": "On Tuesday we have nine or ten o'clock.",
        "damaged": false,
        "voice": "elevenlabs:21m00Tcm4TlvDq8ikWAM",
        "model": "openai/gpt-4.1-mini",
        "latency": {
            "endOfSpeechMs": 8_540,
            "lastWordMs": 210,
            "turnEndMs": 450,
            "askedMs": 60,
            "firstTokenMs": 420,
            "firstAudioMs": 640,
            "playoutMs": 760,
            "speculated": true,
            "filled": false,
        },
        "tokens": { "input": 812, "cached": 0, "output": 19 },
    })
}

/// Returns an event of a conversation.
pub fn call_event() -> Value {
    json!({
        "type": "tool_answered",
        "atMs": 8_420,
        "recordedAt": AT,
        "detail": { "name": "openingHours", "run": 1, "ok": true, "ms": 310, "result": { "opens": "nine" } },
    })
}

/// Returns counts of calls.
pub fn analytics() -> Value {
    json!({
        "groupBy": "day",
        "startTimeUnix": 1_780_272_000,
        "endTimeUnix": 1_780_358_400,
        "complete": true,
        "rows": [{
            "startTimeUnix": 1_780_272_000,
            "calls": 120,
            "answered": 81,
            "conversationDuration": 9_340,
            "outcomes": { "completed": 70, "voicemail": 11, "no-answer": 30, "busy": 9 },
            "optOuts": 3,
            "sentiment": { "positive": 40, "neutral": 25, "negative": 5 },
            "cost": { "currency": "USD", "total": "7.412" },
            "latencies": { "answers": 512, "p50Ms": 640, "p95Ms": 1_120 },
        }],
    })
}

/// Returns a document of the knowledge base.
pub fn document() -> Value {
    json!({
        "documentId": DOCUMENT,
        "type": "url",
        "name": "Opening hours",
        "details": { "url": "https://example.com/hours", "textLength": 1840 },
        "metadata": made(),
    })
}

/// Returns a group of documents.
pub fn group() -> Value {
    json!({ "groupId": GROUP, "name": "Practice", "documents": [document()], "metadata": made() })
}

/// Returns an HTTP tool.
pub fn tool() -> Value {
    json!({
        "toolId": TOOL,
        "name": "openingHours",
        "description": "Tells the opening hours.",
        "parameters": { "type": "object", "properties": {} },
        "url": "https://example.com/hours",
        "method": "POST",
        "timeoutMs": 10000,
        "metadata": { "createdAt": AT, "updatedAt": AT },
    })
}

/// Returns a transfer rule.
pub fn transfer_rule() -> Value {
    json!({
        "transferRuleId": TRANSFER_RULE,
        "name": "Reception",
        "condition": "asks for a person",
        "transferDestination": { "type": "phone", "phoneNumber": PHONE },
        "metadata": { "createdAt": AT, "updatedAt": AT },
    })
}

/// Returns the row report of a file.
pub fn row_report() -> Value {
    json!({
        "totalRows": 3,
        "validRows": 2,
        "invalidRows": 1,
        "skippedRows": 0,
        "skippedColumns": 0,
        "truncated": false,
        "rows": [{
            "row": 2,
            "line": 3,
            "column": "phone",
            "value": "12ab",
            "code": "invalid_phone",
            "message": "`12ab` is not a phone number: write + and 7 to 15 digits, such as +15551234567",
        }],
    })
}

/// Returns an event, as webhooks get it.
pub fn event() -> Value {
    json!({
        "type": "call.ended",
        "timestamp": AT,
        "data": {
            "conversationId": CONVERSATION,
            "campaignId": CAMPAIGN,
            "agentId": AGENT,
            "direction": "outbound",
            "contactName": "Maria",
            "variables": { "city": "Lisbon" },
            "status": "completed",
            "conversationDuration": 42,
            "voiceMailDetected": false,
            "callTransferred": false,
        },
    })
}
