//! Conversations and single calls.

use serde_json::{Value, json};

use domain::{
    conversation::{CallEvent, Conversation, ConversationItem, Turn},
    ports::store::{CallOutcome, ConversationSort, SentimentLabel},
};

use crate::described::{common::NoFields, operation::Operation, samples};
use crate::resources::{
    calls::{
        self, NewCall,
        inbound::{NewInboundCall, NewMediaSocket},
    },
    conversations::{self, export::HEADERS, peaks::RecordingPeaks},
};

/// Returns the operations of conversations and calls.
pub fn operations() -> Vec<Operation> {
    let mut operations = vec![
        list(),
        export(),
        Operation::delete(
            "/public/v1/conversations/{conversationId}",
            "deleteConversation",
            "Delete a conversation with all its content",
        )
        .by(conversations::delete::delete)
        .deletes("ConversationDeleted", "conversationId", &json!(samples::CONVERSATION))
        .conflict("in_use", "the conversation is in progress; end it and try again"),
        Operation::get(
            "/public/v1/conversations/{conversationId}",
            "getConversation",
            "Read a conversation",
        )
        .by(conversations::show)
        .in_service_document()
        .query(
            "include",
            "`turns` adds the turns",
            json!({ "type": "string", "enum": ["turns"], "x-ringback-extension": true }),
        )
        .ok::<Conversation>(samples::conversation()),
        record(
            "/public/v1/conversations/{conversationId}/turns",
            "listTurns",
            "List the turns of a conversation, oldest first",
        )
        .by(conversations::turns::list)
        .note("What an older version did not record is left out.")
        .page::<Turn>(samples::turn()),
        record(
            "/public/v1/conversations/{conversationId}/events",
            "listEvents",
            "List the events of a conversation, oldest first",
        )
        .by(conversations::events::list)
        .note("Secrets in the arguments and answers of tools are replaced by `***`.")
        .page::<CallEvent>(samples::call_event()),
        Operation::post(
            "/public/v1/conversations/{conversationId}/end",
            "endConversation",
            "Hang up",
        )
        .by(conversations::end::end)
        .note("Responds when the conversation is over, or after ten seconds. An unanswered call is cancelled.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<Conversation>(samples::conversation())
        .conflict("invalid_transition", "the conversation is over already"),
        Operation::get(
            "/public/v1/conversations/{conversationId}/recording",
            "getRecording",
            "Get the recording of a conversation",
        )
        .by(conversations::recording::recording)
        .header("Range", "Requested bytes, such as `bytes=0-65535`")
        .raw(
            "200",
            "audio/wav",
            "Stereo: the user on the left, the agent on the right",
            json!({}),
            Value::Null,
        )
        .raw(
            "206",
            "audio/wav",
            "The bytes requested by `Range`",
            json!({}),
            Value::Null,
        )
        .fails(404, "not_found", "this conversation has no recording")
        .fails(
            416,
            "invalid_request",
            "the header Range asks for bytes that are not there: the file has 44",
        ),
        Operation::get(
            "/public/v1/conversations/{conversationId}/recording/peaks",
            "getRecordingPeaks",
            "Get the peaks of a recording, to draw its waveform",
        )
        .by(conversations::peaks::show)
        .query(
            "points",
            "Most peaks of a channel",
            json!({ "type": "integer", "minimum": 10, "maximum": 5000, "default": 1000 }),
        )
        .ok::<RecordingPeaks>(json!({ "durationMs": 3000, "user": [0, 212, 7], "agent": [98, 0, 101] }))
        .fails(404, "not_found", "this conversation has no recording"),
        call(),
        inbound_call(),
    ];
    operations.extend(super::live::operations());
    operations
}

fn record(path: &'static str, id: &str, summary: &str) -> Operation {
    Operation::get(path, id, summary).paged()
}

fn list() -> Operation {
    filtered(
        Operation::get(
            "/public/v1/conversations",
            "listConversations",
            "List conversations, newest first",
        )
        .by(conversations::list)
        .in_service_document(),
    )
    .query(
        "include",
        "`total` adds the number of all matching conversations to `pagination`, except with `hasRecording`",
        json!({ "type": "string", "enum": ["total"], "x-ringback-extension": true }),
    )
    .query(
        "sortBy",
        "Sort key; not with `search`. `duration` and `cost` leave out conversations that have none, and the cost is \
         the one counted in analytics",
        json!({ "type": "string", "enum": ConversationSort::ALL.map(ConversationSort::as_str),
            "default": "start_time", "x-ringback-extension": true }),
    )
    .query(
        "sortDirection",
        "Sort direction; not with `search`",
        json!({ "type": "string", "enum": ["asc", "desc"], "default": "desc", "x-ringback-extension": true }),
    )
    .note(
        "A page may hold fewer conversations than `pageSize`, even none, and still have a `nextCursor`: only so many \
         are examined for each.",
    )
    .paged()
    .page::<ConversationItem>(samples::conversation_item())
}

fn export() -> Operation {
    filtered(Operation::get(
        "/public/v1/conversations/export",
        "exportConversations",
        "Get conversations as a file, newest first",
    )
    .by(conversations::export::export))
    .query(
        "format",
        "`csv`: one row per conversation. `jsonl`: one conversation per line, as JSON",
        json!({ "type": "string", "enum": ["csv", "jsonl"], "default": "csv" }),
    )
    .bom()
    .note(
        "A CSV file has times with the offset of the account's time zone, and a column `collected.NAME` for each collected \
         value after the others. Cells that a spreadsheet would interpret as formulas are escaped, phone numbers and other \
         numbers aside.",
    )
    .raw(
        "200",
        "text/csv",
        "The file",
        json!({ "type": "string" }),
        json!(format!("{}\r\n", HEADERS.join(","))),
    )
    .raw(
        "200",
        "application/jsonl",
        "The file",
        json!({ "type": "string" }),
        Value::Null,
    )
}

/// Adds the filters of conversations.
fn filtered(operation: Operation) -> Operation {
    let time = || json!({ "type": "integer", "minimum": 0 });
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let ours = |mut schema: Value| {
        schema["x-ringback-extension"] = json!(true);
        schema
    };
    let words = |words: &[&str]| json!({ "type": "string", "enum": words });
    operation
        .query("agentId", "Only conversations of this agent", uuid())
        .query("campaignId", "Only conversations of this campaign", ours(uuid()))
        .query(
            "status",
            "Only conversations with this status",
            json!({ "$ref": "#/components/schemas/ConversationStatus" }),
        )
        .query(
            "startedBefore",
            "Started before this Unix time, in seconds or (from 10^11 on) milliseconds",
            time(),
        )
        .query(
            "startedAfter",
            "Started after this Unix time, in seconds or (from 10^11 on) milliseconds",
            time(),
        )
        .query("minDuration", "Minimum duration in seconds", time())
        .query(
            "phoneNumber",
            "Only conversations with this number of the other person",
            ours(json!({ "type": "string" })),
        )
        .query(
            "contactId",
            "Only conversations with the number of this contact",
            ours(uuid()),
        )
        .query(
            "tag",
            "Only conversations of agents that have this tag now",
            ours(json!({ "type": "string" })),
        )
        .query(
            "direction",
            "Only conversations of this direction",
            ours(words(&["inbound", "outbound"])),
        )
        .query(
            "outcome",
            "Only conversations with this outcome. `completed` includes `voicemail`",
            ours(words(&CallOutcome::ALL.map(CallOutcome::as_str))),
        )
        .query(
            "sentiment",
            "Only conversations with this overall sentiment",
            ours(words(&SentimentLabel::ALL.map(SentimentLabel::as_str))),
        )
        .query(
            "hasRecording",
            "Whether this node has a recording",
            ours(json!({ "type": "boolean" })),
        )
        .query(
            "hasIssue",
            "Whether the call had issues",
            ours(json!({ "type": "boolean" })),
        )
        .query(
            "search",
            "Search in transcripts, names and fields: words, `\"exact phrases\"` and prefixes such as `appoint*`; all must occur",
            ours(json!({ "type": "string", "maxLength": 500 })),
        )
}

fn call() -> Operation {
    let queued = json!({
        "conversationId": samples::CONVERSATION,
        "agentId": samples::AGENT,
        "agentName": "Ava",
        "status": "scheduled",
        "direction": "outbound",
        "contactNumber": samples::PHONE,
        "contactName": "Maria",
        "variables": { "city": "Lisbon" },
        "startTimeUnix": 1_780_297_200,
        "conversationDuration": 0,
        "voiceMailDetected": false,
        "callTransferred": false,
        "metadata": samples::made(),
    });
    Operation::post("/public/v1/calls", "createCall", "Place a call")
        .by(calls::create)
        .idempotent()
        .body::<NewCall>(json!({
            "call": {
                "agentId": samples::AGENT,
                "phoneNumber": samples::PHONE,
                "name": "Maria",
                "dynamicVariables": { "city": "Lisbon" },
            },
            "overridden": {
                "agentId": samples::AGENT,
                "phoneNumber": samples::PHONE,
                "overrides": { "greetingMessage": "Hello {{name}}, your order is ready.", "maxDurationSeconds": 60 },
            },
        }))
        .invalid(
            "overrides.llm",
            "not_allowed",
            "this agent does not allow it; set its `platformSettings.overrides.llm` to true, or leave it out",
        )
        .warns()
        .created::<ConversationItem>(queued)
        .link("read", "getConversation", "conversationId", "/data/conversationId")
        .link("end", "endConversation", "conversationId", "/data/conversationId")
        .missing("agent")
        .conflict("do_not_call", "+15550100010 is on the do-not-call list")
        .conflict("not_configured", "language model `openai/gpt` is not configured")
}

fn inbound_call() -> Operation {
    Operation::post(
        "/public/v1/calls/inbound",
        "createInboundCall",
        "Call an agent over a WebSocket",
    )
    .by(calls::inbound::create)
    .idempotent()
    .note("The call starts when the WebSocket is open, and ends when it closes.")
    .body::<NewInboundCall>(json!({
        "call": {
            "agentId": samples::AGENT,
            "from": samples::PHONE,
            "dynamicVariables": { "city": "Lisbon" },
        },
    }))
    .warns()
    .created::<NewMediaSocket>(json!({ "conversationId": samples::CONVERSATION, "mediaUrl": samples::media_url() }))
    .link("read", "getConversation", "conversationId", "/data/conversationId")
    .link("end", "endConversation", "conversationId", "/data/conversationId")
    .missing("agent")
    .conflict("not_configured", "language model `openai/gpt` is not configured")
}
