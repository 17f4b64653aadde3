//! Live calls: their list, and commands to them.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    described::{operation::Operation, samples},
    resources::{
        calls::{self, in_progress::LiveCall},
        conversations::live::{
            self,
            commands::{CommandTaken, NewDigits, NewInstructions, NewTransfer, NewWords},
            text::{NewText, TextAnswer},
            tickets::{LiveTicket, NewTicket},
        },
    },
};

/// Answer of an account that allows nobody to follow its calls.
const OFF: &str = "the account's safeguard `liveListening` is false";

/// Returns the operations of clients that follow a call.
fn following() -> Vec<Operation> {
    let ticket = "5d41402abc4b2a76b9719d911017c592ae41e4649b934ca495991b7852b855d0";
    let address = format!(
        "wss://calls.example.com/public/v1/conversations/{}/listen?ticket={ticket}",
        samples::CONVERSATION
    );
    let events = "event: words\nid: 2\ndata: {\"speaker\":\"user\",\"text\":\"Yes, on\",\"final\":false}\n\n";
    vec![
        Operation::get(
            "/public/v1/conversations/{conversationId}/live",
            "followCall",
            "Follow a live call",
        )
        .note("Server-sent events `state`, `words`, `operator`, `node`, `turn`, `lost` and `end`.")
        .raw(
            "200",
            "text/event-stream",
            "Stream of events until the call ends",
            json!({ "type": "string" }),
            json!(events),
        )
        .fails(403, "forbidden", OFF)
        .conflict("invalid_transition", "not possible now: conversation is completed"),
        Operation::post(
            "/public/v1/conversations/{conversationId}/live-tickets",
            "createLiveTicket",
            "Get a ticket for a WebSocket to a live call",
        )
        .body::<NewTicket>(json!({ "listen": { "for": "listen" } }))
        .created::<LiveTicket>(json!({
            "ticket": ticket, "for": "listen", "url": address, "expiresAt": "2026-01-01T00:00:30.000Z",
        }))
        .fails(403, "forbidden", OFF)
        .conflict("invalid_transition", "not possible now: conversation is completed")
        .conflict("conflict", "50 tickets of this call are unused; use one, or wait 30 s"),
        Operation::get(
            "/public/v1/conversations/{conversationId}/listen",
            "listenToCall",
            "Listen to a live call",
        )
        .keyless()
        .note("Opens a WebSocket. The ticket takes the place of a key.")
        .query("ticket", "Ticket for `listen`", json!({ "type": "string" }))
        .raw(
            "101",
            "application/json",
            "The WebSocket is open",
            json!({ "type": "string" }),
            Value::Null,
        )
        .fails(
            403,
            "forbidden",
            "a page of another origin must not open this WebSocket",
        )
        .missing("ticket")
        .fails(
            503,
            "unavailable",
            "this node has as many listeners as RINGBACK_MAX_LISTENERS allows; try again later",
        ),
    ]
}

/// Returns the operation of operators.
fn operating() -> Operation {
    Operation::get(
        "/public/v1/conversations/{conversationId}/operate",
        "operateCall",
        "Take a live call over",
    )
    .keyless()
    .note("Opens a WebSocket. The ticket takes the place of a key.")
    .query("ticket", "Ticket for `operate`", json!({ "type": "string" }))
    .raw(
        "101",
        "application/json",
        "The WebSocket is open",
        json!({ "type": "string" }),
        Value::Null,
    )
    .fails(
        403,
        "forbidden",
        "a page of another origin must not open this WebSocket",
    )
    .missing("ticket")
    .conflict("conflict", "ada@example.com has the call; wait until it is given back")
}

/// Returns the operation of test calls that are held in text.
fn texting() -> Operation {
    let turn = json!({
        "number": 2, "speaker": "agent", "words": "Yes, from nine.", "startMs": 9_300, "endMs": 9_900, "interrupted": false,
        "damaged": false, "model": "openai/gpt-4.1-mini",
        "latency": {
            "endOfSpeechMs": 8_540, "turnEndMs": 0, "askedMs": 0, "firstTokenMs": 420, "playoutMs": 760,
            "speculated": false, "filled": false,
        },
        "passages": [{ "document": "Hours", "heading": "", "text": "We open at nine." }],
    });
    Operation::post(
        "/public/v1/conversations/{conversationId}/text",
        "sendText",
        "Say something to the agent of a test call in text",
    )
    .note("The answer comes when the agent has said its turn, after 50 s at the latest. Texts are answered one at a time.")
    .body::<NewText>(json!({ "a question": { "text": "Are you open on Monday?" } }))
    .ok::<TextAnswer>(json!({
        "conversationId": samples::CONVERSATION,
        "turns": [turn],
        "toolCalls": [{ "name": "openingHours", "run": 1, "arguments": { "day": "Monday" }, "result": { "opens": "nine" } }],
        "next": "user",
    }))
    .conflict("invalid_transition", "not possible now: the call is not a test call with `mode` `text`")
    .conflict("conflict", "this call has 16 unanswered texts, the maximum; wait for an answer, then send it again")
}

/// Returns the operations.
pub fn operations() -> Vec<Operation> {
    let mut operations = commands();
    operations.extend(following());
    operations.push(operating());
    operations.push(texting());
    operations
}

fn commands() -> Vec<Operation> {
    let words = json!({ "after": { "text": "One moment please." }, "at once": { "text": "Stop.", "interrupt": true } });
    let transfer = json!({
        "blind": { "phoneNumber": samples::PHONE },
        "attended": { "phoneNumber": samples::PHONE, "transferType": "conference", "message": "I connect you." },
    });
    vec![
        list(),
        command::<NewWords>(
            "/public/v1/conversations/{conversationId}/say",
            "sayInCall",
            "Have the agent say something",
            words,
        )
        .by(live::commands::say)
        .note("The agent says the text once neither side is speaking. At most ten texts wait."),
        command::<NewTransfer>(
            "/public/v1/conversations/{conversationId}/transfer",
            "transferCall",
            "Transfer a live call",
            transfer,
        )
        .by(live::commands::transfer)
        .note("The transfer begins after its announcement."),
        command::<NewDigits>(
            "/public/v1/conversations/{conversationId}/digits",
            "pressDigits",
            "Press keys",
            json!({ "some": { "digits": "1w42#" } }),
        )
        .by(live::commands::digits),
        command::<NewInstructions>(
            "/public/v1/conversations/{conversationId}/instructions",
            "instructCall",
            "Give the model a note",
            json!({
                "for the call": { "text": "Offer ten per cent." },
                "once": { "text": "Ask for the order number.", "for": "turn" },
            }),
        )
        .by(live::commands::instructions)
        .note("At most ten notes hold at once."),
    ]
}

fn list() -> Operation {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let sample = json!({
        "conversationId": samples::CONVERSATION, "agentId": samples::AGENT, "agentName": "Ava",
        "campaignId": samples::CAMPAIGN, "campaignName": "Check-ups", "contactName": "Maria",
        "variables": { "city": "Lisbon" },
        "phoneNumber": samples::PHONE, "direction": "outbound", "status": "in_progress", "startedAt": samples::AT,
        "answeredAt": samples::AT, "operator": { "by": "rb_1a2b3c4d", "since": samples::AT },
        "present": { "state": "listening", "words": { "speaker": "user", "text": "Tuesday is" }, "mood": "neutral" },
    });
    Operation::get(
        "/public/v1/calls/live",
        "listLiveCalls",
        "List the calls in progress, newest first",
    )
    .by(calls::in_progress::list)
    .note("Contains the calls of all nodes, from the dial or the announcement to the end.")
    .query("agentId", "Only calls of this agent", uuid())
    .query("campaignId", "Only calls of this campaign", uuid())
    .query(
        "present",
        "Whether each call has its `present` state; needs the scope `live`",
        json!({ "type": "boolean", "default": false }),
    )
    .query("test", "Only test calls, or only others", json!({ "type": "boolean" }))
    .paged()
    .page::<LiveCall>(sample)
    .fails(403, "forbidden", OFF)
}

fn command<T: ToSchema>(path: &'static str, id: &str, summary: &str, examples: Value) -> Operation {
    Operation::post(path, id, summary)
        .body::<T>(examples)
        .ok::<CommandTaken>(json!({ "conversationId": samples::CONVERSATION }))
        .conflict("invalid_transition", "not possible now: the call is `ringing`")
}
