//! The record of a call: its turns with their latencies, and its events.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    history::Speaker,
    id::AttemptId,
    knowledge::Excerpt,
    ports::store::{EventFact, EventRow, Store, StoreResult, Tokens, TurnDetail, TurnFact},
};

/// Name of the event that has the latencies of the agent's turn which begins at its time.
const REPLY: &str = "reply";

/// Most answers whose latencies are read: more than a call of the longest duration has.
const MOST_REPLIES: i64 = 10_000;

/// A turn of a call. Times are in milliseconds from the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Number of the turn; numbers rise, and some may be missing.
    #[schema(minimum = 0)]
    pub number: i64,
    /// Speaker.
    pub speaker: Speaker,
    /// Words; of the agent's only those that were heard.
    pub words: String,
    /// Start.
    pub start_ms: i64,
    /// End.
    pub end_ms: i64,
    /// Whether the user interrupted the agent. Then `words` is what was heard.
    pub interrupted: bool,
    /// Text that was being said when the user interrupted, heard or not; at most 1,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended: Option<String>,
    /// Whether part of the user's speech was not understood.
    pub damaged: bool,
    /// Voice of the agent, as `provider:voice` or as the agent names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// Language model, as `provider/model` or as the agent names it. Omitted for texts that no model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Latencies, if the turn answers the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<TurnLatency>,
    /// Tokens of the call's models since the model's turn before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// In test calls, the passages of the agent's documents that the model was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Excerpt>>,
}

/// Latencies of an answer, in milliseconds from the end of the user's speech.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnLatency {
    /// End of the user's speech, in milliseconds from the answer of the call.
    #[serde(default)]
    #[schema(required = true)]
    pub end_of_speech_ms: i64,
    /// The user's last word was known.
    #[serde(alias = "finalMs", skip_serializing_if = "Option::is_none")]
    pub last_word_ms: Option<i64>,
    /// The user's turn was over.
    pub turn_end_ms: i64,
    /// The model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<i64>,
    /// The model's first token came. Omitted if a filler came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<i64>,
    /// The first audio was synthesised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_audio_ms: Option<i64>,
    /// The first audio was played.
    pub playout_ms: i64,
    /// Whether the answer was made ahead, in a pause of the user.
    #[serde(default)]
    #[schema(required = true)]
    pub speculated: bool,
    /// Whether the turn begins with a filler.
    #[serde(default)]
    #[schema(required = true)]
    pub filled: bool,
}

/// Returns the latencies of a call's answers in order.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn latencies(store: &dyn Store, call: AttemptId) -> StoreResult<Vec<TurnLatency>> {
    Ok(replies(store, call)
        .await?
        .into_iter()
        .map(|(_, latency)| latency)
        .collect())
}

/// Returns the latencies of a call's answers, each with the start of its turn in milliseconds from the call's answer.
async fn replies(store: &dyn Store, call: AttemptId) -> StoreResult<Vec<(i64, TurnLatency)>> {
    let replies = store.events_of(call, &[REPLY], None, MOST_REPLIES).await?;
    let latencies = replies.iter().filter_map(|row| {
        let latency = latency_of(&row.event)?;
        Some((row.event.at_ms, latency))
    });
    Ok(latencies.collect())
}

/// Returns the latencies of the agent's turn that begins at this event's time, if the event tells them.
pub fn latency_of(event: &EventFact) -> Option<TurnLatency> {
    let told = (event.name == REPLY).then_some(&event.detail)?;
    let mut latency: TurnLatency = serde_json::from_str(told).ok()?;
    latency.end_of_speech_ms = event.at_ms - latency.playout_ms;
    Some(latency)
}

/// Returns turns with their latencies.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn turns(store: &dyn Store, call: AttemptId, facts: Vec<TurnFact>) -> StoreResult<Vec<Turn>> {
    let mut latencies: HashMap<i64, TurnLatency> = replies(store, call).await?.into_iter().collect();
    Ok(facts.into_iter().map(|fact| turn(fact, &mut latencies)).collect())
}

/// Returns a turn without its latencies.
pub fn turn_of(fact: TurnFact) -> Turn {
    turn(fact, &mut HashMap::new())
}

fn turn(fact: TurnFact, latencies: &mut HashMap<i64, TurnLatency>) -> Turn {
    let TurnDetail {
        voice,
        model,
        tokens,
        intended,
        passages,
    } = fact.detail;
    let by_agent = fact.speaker == Speaker::Agent;
    Turn {
        number: fact.seq,
        speaker: fact.speaker,
        words: fact.text,
        start_ms: fact.started_ms,
        end_ms: fact.ended_ms,
        interrupted: fact.interrupted,
        intended,
        damaged: fact.damaged,
        voice,
        model,
        latency: by_agent.then(|| latencies.remove(&fact.started_ms)).flatten(),
        tokens,
        passages: (!passages.is_empty()).then_some(passages),
    }
}

/// An event of a call.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallEvent {
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Time in milliseconds from the answer; 0 before it.
    pub at_ms: i64,
    /// Time at which it was recorded, usually within 200 ms (ISO 8601, UTC).
    #[schema(format = DateTime)]
    pub recorded_at: String,
    /// Details, by the type.
    #[schema(value_type = Object)]
    pub detail: Map<String, Value>,
}

/// Type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// A safeguard warned of the call, put it off or refused it.
    Safeguard,
    /// A call came in.
    Received,
    /// The carrier took the dial.
    Dialed,
    /// The phone rings.
    Ringing,
    /// The call was answered.
    Answered,
    /// The call overrides fields of its agent.
    Overridden,
    /// It was found who or what answered.
    WhoAnswered,
    /// A mailbox beeped.
    Beep,
    /// The user interrupted the agent.
    Interrupted,
    /// The agent bridged a wait.
    Filler,
    /// The user pressed keys.
    KeysPressed,
    /// The agent pressed a key of a menu.
    KeySent,
    /// The model used a built-in tool.
    BuiltInTool,
    /// A tool outside the call began.
    ToolBegan,
    /// An outside tool answered.
    ToolAnswered,
    /// The agent promised to call back.
    CallBack,
    /// The user wishes no further calls.
    OptedOut,
    /// A transfer to a number began.
    Transfer,
    /// The carrier took the transfer.
    TransferTaken,
    /// The carrier's answer to the transfer was lost.
    TransferUnanswered,
    /// The transfer succeeded.
    Transferred,
    /// The transfer failed.
    TransferFailed,
    /// A transfer to another agent began.
    AgentTransfer,
    /// Another agent goes on.
    AgentChanged,
    /// The other agent could not be had.
    AgentTransferFailed,
    /// The agent tells that an AI speaks, or was heard to the end of these words.
    Disclosure,
    /// The call moved in its conversation graph.
    WorkflowHop,
    /// The call goes on without the conversation graph of its agent.
    GraphNotUsed,
    /// The agent changed its language.
    Language,
    /// A client had the agent say something.
    Say,
    /// A client had the call transferred.
    TransferWanted,
    /// A client had keys pressed.
    Digits,
    /// A client gave the model a note for the rest of the call.
    Instructions,
    /// A client listens to the call.
    ListenerJoined,
    /// A client listens no more.
    ListenerLeft,
    /// An operator took the call over.
    OperatorJoined,
    /// The agent has the call again, or it ended.
    OperatorLeft,
    /// A reply broke off after a whole sentence.
    ReplyBrokeOff,
    /// Speech recognition failed for good.
    RecogniserLost,
    /// The audio was lost.
    MediaLost,
    /// The audio is back.
    MediaBack,
    /// The part that handles the audio crashed.
    StreamCrashed,
    /// Another node took the call over.
    TakenOver,
    /// Parts of this record are lost.
    FactsLost,
    /// The call is over.
    Ended,
}

// The words are the names of the facts.
spelled!(EventType, Safeguard "safeguard", Received "received", Dialed "dialed", Ringing "ringing", Answered "answered", Overridden "overridden", WhoAnswered "amd", Beep "beep", Interrupted "barged_in", Filler "filler", KeysPressed "keys", KeySent "pressed", BuiltInTool "built_in_tool", ToolBegan "tool_begun", ToolAnswered "tool", CallBack "call_back", OptedOut "opted_out", Transfer "transfer", TransferTaken "transfer_taken", TransferUnanswered "transfer_unanswered", Transferred "transferred", TransferFailed "transfer_failed", AgentTransfer "agent_transfer", AgentChanged "agent_changed", AgentTransferFailed "agent_transfer_failed", Disclosure "disclosure", WorkflowHop "workflow_hop", GraphNotUsed "graph_not_used", Language "language", Say "say", TransferWanted "transfer_wanted", Digits "digits", Instructions "instructions", ListenerJoined "listener_joined", ListenerLeft "listener_left", OperatorJoined "operator_joined", OperatorLeft "operator_left", ReplyBrokeOff "reply_broke_off", RecogniserLost "deafness", MediaLost "media_lost", MediaBack "media_back", StreamCrashed "stream_crashed", TakenOver "taken_over", FactsLost "facts_lost", Ended "ended");

/// Returns a stored event as it is shown. Returns `None` for a name that is not shown.
pub fn event(row: &EventRow) -> Option<CallEvent> {
    let kind = EventType::parse(&row.event.name)?;
    let mut detail: Map<String, Value> = serde_json::from_str(&row.event.detail).unwrap_or_default();
    if matches!(kind, EventType::WorkflowHop | EventType::AgentTransfer) {
        // The state of the walk is for a node that takes the call over.
        detail.shift_remove("walk");
    }
    Some(CallEvent {
        kind,
        at_ms: row.event.at_ms,
        recorded_at: row.stored_at.to_iso8601(),
        detail,
    })
}
