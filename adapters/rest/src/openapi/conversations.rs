//! Conversations, and single calls.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    campaign_types::NoFields,
    common::{Made, PhoneNumber, PhoneNumberSent},
    operation::Operation,
    samples,
};

/// Where a conversation stands.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// It was answered and is over.
    Completed,
    /// Being dialed or talked in.
    InProgress,
    /// Stopped before it was answered.
    Cancelled,
    /// It was not answered, or broke off.
    Failed,
    /// Still to be dialed.
    Scheduled,
}

/// Which way a call went.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum CallDirection {
    /// We dialed.
    Outbound,
    /// We were called.
    Inbound,
}

/// An item of the list.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationItem {
    /// Its id.
    #[schema(format = "uuid")]
    pub conversation_id: String,
    /// The agent.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// The agent's name.
    pub agent_name: String,
    /// The campaign, if one dialed.
    #[schema(format = "uuid")]
    pub campaign_id: Option<String>,
    /// Where it stands.
    pub status: ConversationStatus,
    /// Which way it went.
    pub direction: CallDirection,
    /// The person: who was called, or who called. Left out once erased, and where a caller withheld it.
    pub contact_number: Option<PhoneNumber>,
    /// Our number on the line: the caller ID, or of an inbound call the number that was called.
    pub caller_number: Option<PhoneNumber>,
    /// Dialed or called at, in Unix seconds; before that, when it is due.
    pub start_time_unix: i64,
    /// Over since, in Unix seconds.
    pub end_time_unix: Option<i64>,
    /// Whole seconds from the answer to the end; 0 if never answered.
    #[schema(minimum = 0)]
    pub conversation_duration: i64,
    /// A few sentences, after the analysis.
    pub summary: Option<String>,
    /// When it was made.
    pub metadata: Made,
}

/// A whole conversation. What the analysis finds is left out until it is done.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// Its id.
    #[schema(format = "uuid")]
    pub conversation_id: String,
    /// The agent.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// The agent's name.
    pub agent_name: String,
    /// The campaign, if one dialed.
    #[schema(format = "uuid")]
    pub campaign_id: Option<String>,
    /// Where it stands.
    pub status: ConversationStatus,
    /// Which way it went.
    pub direction: CallDirection,
    /// The person: who was called, or who called. Left out once erased, and where a caller withheld it.
    pub contact_number: Option<PhoneNumber>,
    /// Our number on the line: the caller ID, or of an inbound call the number that was called.
    pub caller_number: Option<PhoneNumber>,
    /// Dialed or called at, in Unix seconds; before that, when it is due.
    pub start_time_unix: i64,
    /// Over since, in Unix seconds.
    pub end_time_unix: Option<i64>,
    /// Whole seconds from the answer to the end; 0 if never answered.
    #[schema(minimum = 0)]
    pub conversation_duration: i64,
    /// A few sentences.
    pub summary: Option<String>,
    /// Lines `Agent: …` and `User: …`.
    pub transcript: Option<String>,
    /// How it felt.
    pub sentiment: Option<Sentiment>,
    /// What mattered.
    pub key_moments: Option<Vec<KeyMoment>>,
    /// The appointment that the call made last, empty if none. One that was booked in a calendar: `dateTime`,
    /// `endDateTime`, `timezone`, `provider`, `calendarId`, `eventId`, `confirmed`, `attendee`, and `description` where it
    /// has notes. One that was only agreed on: `description`, and where its time is certain `dateTime` (local, ISO 8601) and
    /// `timezone`.
    pub appointment_scheduled: BTreeMap<String, Value>,
    /// What the agent was to find out.
    pub data_collected: DataCollected,
    /// A machine picked up.
    pub voice_mail_detected: bool,
    /// Why it failed or was cancelled, such as `busy`.
    pub error_message: Option<String>,
    /// It was handed on.
    pub call_transferred: bool,
    /// Who carried it.
    pub carrier: Option<String>,
    /// Who analysed it, once that is done.
    pub analysed_by: Option<AnalysedBy>,
    /// What went wrong, when the agent tracks issues.
    pub issues: Option<Vec<String>>,
    /// What the call used of its providers, by their names, once it is over; left out when it used none.
    pub usage: Option<BTreeMap<String, ProviderUsage>>,
    /// When it was made.
    pub metadata: Made,
}

/// Who analysed a call.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum AnalysedBy {
    /// The rules, which need no language model.
    Rules,
    /// The agent's language model.
    Model,
    /// The rules, as the language model gave no usable answer.
    RulesInstead,
}

/// What a call used of one provider, as providers charge for it.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderUsage {
    /// Tokens that a language model read, those from its cache included.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Of these, tokens from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached_tokens: Option<i64>,
    /// Tokens that a language model wrote.
    #[schema(minimum = 0)]
    pub output_tokens: Option<i64>,
    /// Characters that were synthesised.
    #[schema(minimum = 0)]
    pub characters: Option<i64>,
    /// Seconds of audio that were transcribed.
    #[schema(minimum = 0)]
    pub seconds: Option<f64>,
    /// The same of each of its models by its name, or of each voice where the provider charges by voices.
    pub models: Option<BTreeMap<String, ModelUsage>>,
}

/// What a call used of one model.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Tokens that it read, those from its cache included.
    #[schema(minimum = 0)]
    pub input_tokens: Option<i64>,
    /// Of these, tokens from the provider's prompt cache.
    #[schema(minimum = 0)]
    pub cached_tokens: Option<i64>,
    /// Tokens that it wrote.
    #[schema(minimum = 0)]
    pub output_tokens: Option<i64>,
    /// Characters that it spoke.
    #[schema(minimum = 0)]
    pub characters: Option<i64>,
    /// Seconds of audio that it heard.
    #[schema(minimum = 0)]
    pub seconds: Option<f64>,
}

/// How a conversation felt.
#[derive(ToSchema)]
pub struct Sentiment {
    /// -1 to 1.
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
    /// Turn by turn.
    pub sentiment_by_turn: Vec<TurnSentiment>,
    /// Over all.
    pub sentiment_overall: SentimentLabel,
}

/// A feeling.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum SentimentLabel {
    /// Good.
    Positive,
    /// Neither.
    Neutral,
    /// Bad.
    Negative,
}

/// Who spoke.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Speaker {
    /// The agent.
    Agent,
    /// The other one.
    User,
}

/// How a turn felt.
#[derive(ToSchema)]
pub struct TurnSentiment {
    /// The turn's words.
    pub text: String,
    /// The feeling.
    pub sentiment_label: SentimentLabel,
    /// Who spoke.
    pub speaker: Speaker,
    /// -1 to 1.
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
}

/// A moment that mattered.
#[derive(ToSchema)]
pub struct KeyMoment {
    /// The words.
    pub text: String,
    /// What kind of moment.
    pub label: String,
    /// Who spoke.
    pub speaker: Speaker,
    /// `mm:ss` into the call.
    #[schema(pattern = "^[0-9]{2,}:[0-5][0-9]$")]
    pub timestamp: String,
}

/// What the agent found out; `entity` and `value` are the first of `items`.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataCollected {
    /// The first entity.
    pub entity: Option<String>,
    /// Its value.
    pub value: Option<String>,
    /// All of them.
    pub items: Vec<CollectedItem>,
}

/// One thing that was found out.
#[derive(ToSchema)]
pub struct CollectedItem {
    /// Its name.
    pub entity: String,
    /// Its value, always a text.
    pub value: String,
    /// What the text is to be read as.
    #[serde(rename = "type")]
    pub kind: EntityType,
}

/// What a value is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum EntityType {
    /// Any text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
}

/// One call to place.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCall {
    /// An agent of the account that dials.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Whom to call.
    pub phone_number: PhoneNumberSent,
    /// The callee's name.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// Values of at most 100 `{{placeholders}}`: strings, numbers, booleans.
    pub dynamic_variables: Option<BTreeMap<VariableName, Variable>>,
}

/// A call that its caller holds by a WebSocket.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewInboundCall {
    /// An agent of the account that takes calls.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Who calls.
    pub from: Option<PhoneNumberSent>,
    /// Which of the agent's numbers was called.
    pub to: Option<PhoneNumberSent>,
    /// Values of at most 100 `{{placeholders}}`: strings, numbers, booleans.
    pub dynamic_variables: Option<BTreeMap<VariableName, Variable>>,
}

/// Where such a call goes on.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboundCall {
    /// Its conversation.
    #[schema(format = "uuid")]
    pub conversation_id: String,
    /// The WebSocket to open within 30 s. Whoever has this address is the caller.
    pub media_url: String,
}

/// The name of a `{{placeholder}}`: not blank.
#[derive(ToSchema)]
#[schema(max_length = 200, pattern = r"\S")]
pub struct VariableName(pub String);

/// The value of a `{{placeholder}}`.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum Variable {
    /// A text of at most 4 KiB.
    Text(String),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

/// Operations of conversations and calls.
pub fn operations() -> Vec<Operation> {
    vec![
        list(),
        Operation::get(
            "/public/v1/conversations/{conversationId}",
            "getConversation",
            "Read a conversation",
        )
        .ok::<Conversation>(samples::conversation()),
        Operation::post(
            "/public/v1/conversations/{conversationId}/end",
            "endConversation",
            "Hang up",
        )
        .ours()
        .note("Answers when the conversation is over, or after ten seconds. A call not answered yet is cancelled.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<Conversation>(samples::conversation())
        .conflict("invalid_transition", "the conversation is over already"),
        Operation::get(
            "/public/v1/conversations/{conversationId}/recording",
            "getRecording",
            "Listen to a conversation",
        )
        .ours()
        .header("Range", "The bytes wanted, such as `bytes=0-65535`")
        .raw(
            "200",
            "audio/wav",
            "Stereo: the user left, the agent right",
            json!({}),
            Value::Null,
        )
        .raw(
            "206",
            "audio/wav",
            "The bytes that `Range` asks for",
            json!({}),
            Value::Null,
        )
        .fails(404, "not_found", "this conversation has no recording")
        .fails(
            416,
            "invalid_request",
            "the header Range asks for bytes that are not there: the file has 44",
        ),
        call(),
        inbound_call(),
    ]
}

fn list() -> Operation {
    let time = || json!({ "type": "integer", "minimum": 0 });
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let mut campaign = uuid();
    campaign["x-ringback-extension"] = json!(true);
    Operation::get(
        "/public/v1/conversations",
        "listConversations",
        "List conversations, newest first",
    )
    .query("agentId", "Of this agent", uuid())
    .query("campaignId", "Of this campaign", campaign)
    .query(
        "status",
        "With this status",
        json!({ "$ref": "#/components/schemas/ConversationStatus" }),
    )
    .query(
        "startedBefore",
        "Started before: Unix seconds, from 10^11 on milliseconds",
        time(),
    )
    .query(
        "startedAfter",
        "Started after: Unix seconds, from 10^11 on milliseconds",
        time(),
    )
    .query("minDuration", "Seconds at least", time())
    .paged()
    .page::<ConversationItem>(samples::conversation_item())
}

fn call() -> Operation {
    let queued = json!({
        "conversationId": samples::CONVERSATION,
        "agentId": samples::AGENT,
        "agentName": "Ava",
        "status": "scheduled",
        "direction": "outbound",
        "contactNumber": samples::PHONE,
        "startTimeUnix": 1_780_297_200,
        "conversationDuration": 0,
        "metadata": samples::made(),
    });
    Operation::post("/public/v1/calls", "createCall", "Place one call")
        .ours()
        .idempotent()
        .body::<NewCall>(json!({
            "call": {
                "agentId": samples::AGENT,
                "phoneNumber": samples::PHONE,
                "name": "Maria",
                "dynamicVariables": { "city": "Lisbon" },
            },
        }))
        .warns()
        .created::<ConversationItem>(queued)
        .link("read", "getConversation", "conversationId", "/data/conversationId")
        .link("end", "endConversation", "conversationId", "/data/conversationId")
        .missing("agent")
        .conflict("do_not_call", "+15550100010 is on the do-not-call list")
        .conflict("not_configured", "language model `openai/gpt` is not configured")
}

fn inbound_call() -> Operation {
    let proof = "0b9c".repeat(16);
    let media_url = format!(
        "wss://calls.example.com/carriers/plain/media/{}.{proof}",
        samples::CONVERSATION
    );
    Operation::post(
        "/public/v1/calls/inbound",
        "createInboundCall",
        "Call an agent over a WebSocket",
    )
    .ours()
    .idempotent()
    .note("The agent is on the line once the WebSocket is open, and the call ends with it.")
    .body::<NewInboundCall>(json!({
        "call": {
            "agentId": samples::AGENT,
            "from": samples::PHONE,
            "dynamicVariables": { "city": "Lisbon" },
        },
    }))
    .warns()
    .created::<InboundCall>(json!({ "conversationId": samples::CONVERSATION, "mediaUrl": media_url }))
    .link("read", "getConversation", "conversationId", "/data/conversationId")
    .link("end", "endConversation", "conversationId", "/data/conversationId")
    .missing("agent")
    .conflict("not_configured", "language model `openai/gpt` is not configured")
}
