//! `POST /public/v1/conversations/{conversationId}/text`: a turn of the user in a test call that is held in text, and
//! the agent's answer.

use std::time::Duration;

use actors::{
    call::{CallCommand, CommandAnswer, CommandKind},
    live_feed::{Following, LiveEvent, LiveState},
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use domain::{
    conversation::{EventType, Turn, TurnLatency, latency_of, turn_of},
    history::{EventFact, Speaker},
    id::AttemptId,
    text::plain,
};
use peers::Shown;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, timeout_at},
};
use utoipa::ToSchema;

use super::{
    commands::{CommandText, ended_or, impossible, require_in_progress, status, words},
    tickets::elsewhere,
    watch::follow,
};
use crate::{
    caller::{Caller, CallerKey},
    request::{
        body::JsonObject,
        checked::Checked,
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict},
    },
    state::{RestState, text_queue::MOST_TEXTS},
};

/// Time limit for the agent's answer and the wait for those to earlier texts. Many clients and proxies wait no longer
/// than a minute.
const WITHIN: Duration = Duration::from_secs(50);

/// The same limit at a node that passes the request on.
const PASSED_WITHIN: Duration = Duration::from_secs(55);

/// Answer to a text: all that the agent did.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextAnswer {
    /// Id of the conversation.
    #[schema(value_type = String, format = "uuid")]
    conversation_id: AttemptId,
    /// Turns of the agent.
    turns: Vec<Turn>,
    /// Uses of tools.
    tool_calls: Vec<ToolCall>,
    /// Side that is next.
    next: Next,
}

/// A use of a tool.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// Name of the tool.
    name: String,
    /// Number within the call, for a tool outside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<u64>,
    /// Arguments. If they are long, the beginning of their JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    /// Result, or the beginning of its JSON. Left out while the tool runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
}

/// Side that is next to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Next {
    /// The agent waits for a text.
    User,
    /// The agent is not done yet.
    Agent,
    /// The call is over.
    Nobody,
}

/// Words of the user.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewText {
    /// The words.
    pub text: CommandText,
}

/// Handles the request. If the agent is speaking, or earlier texts wait, their turns end first.
pub async fn write(
    State(state): State<RestState>,
    (Caller(account), key): (Caller, CallerKey),
    (PathId(id), _, JsonObject(body)): (PathId<AttemptId>, Query<NoParameters>, JsonObject),
) -> ApiResult<Response> {
    let status = status(&state, account.id, id).await?;
    let mut body = Checked::<NewText>::of(&body);
    body.parse("text", |text| Ok(plain(words(text)?)));
    let NewText { text } = body.end()?;
    require_in_progress(status)?;
    let command = CallCommand {
        by: key.name().to_owned(),
        kind: CommandKind::Text { text: text.0 },
    };
    let answer = match elsewhere(&state, id, Shown::Vouched).await {
        Ok(Some(elsewhere)) => return Ok(elsewhere.within(PASSED_WITHIN).into_response()),
        Ok(None) => answer(&state, id, command).await,
        Err(unknown) => Err(unknown),
    };
    match answer {
        Ok(answer) => Ok(Reply::ok(answer).into_response()),
        Err(gone @ ApiError::Unavailable(_)) => Err(ended_or(&state, account.id, id, gone).await),
        Err(other) => Err(other),
    }
}

/// Says a text once it is its turn, and returns the agent's answer.
async fn answer(state: &RestState, id: AttemptId, command: CallCommand) -> ApiResult<TextAnswer> {
    let limit = Instant::now() + WITHIN;
    let lock = state.live.texts().lock_of(id).ok_or_else(|| {
        let message =
            format!("this call has {MOST_TEXTS} unanswered texts, the maximum; wait for an answer, then send it again");
        ApiError::Conflict(Conflict::InProgress, message)
    })?;
    let Ok(_turn) = timeout_at(limit, lock.lock_owned()).await else {
        return Err(not_said());
    };
    let mut talk = Talk::new(id, follow(state, id, None).await?);
    let call = state.switchboard.inspect_call(id).await;
    if call.is_some_and(|call| call.is_text) {
        talk.until_next(state, limit).await;
        if talk.answer.next == Next::Agent {
            return Err(not_said());
        }
    }
    match state.switchboard.command_call(id, command).await {
        Some(CommandAnswer::Done) => {}
        Some(CommandAnswer::Refused(why)) => return Err(impossible(&why)),
        Some(CommandAnswer::NotHere) | None => {
            return Err(ApiError::Unavailable(
                "this node does not have the call at this moment; read its turns before you try again".into(),
            ));
        }
    }
    talk.until_next(state, limit).await;
    let answer = talk.answer;
    if answer.next == Next::Nobody && answer.turns.is_empty() && answer.tool_calls.is_empty() {
        return Err(ApiError::Unavailable(
            "the call left this node before the agent answered; read its turns before you try again".into(),
        ));
    }
    Ok(answer)
}

fn not_said() -> ApiError {
    let message = "the text was not said: the agent was still busy with earlier turns after 50 s; send it again";
    ApiError::Conflict(Conflict::InProgress, message.into())
}

/// Follows a call by its events.
struct Talk {
    events: Receiver<LiveEvent>,
    answer: TextAnswer,
    /// Latencies of the turn that begins at this time.
    latency: Option<(i64, TurnLatency)>,
}

impl Talk {
    fn new(conversation_id: AttemptId, Following { now, events, .. }: Following) -> Self {
        let mut talk = Self {
            events,
            answer: TextAnswer {
                conversation_id,
                turns: Vec::new(),
                tool_calls: Vec::new(),
                next: Next::Agent,
            },
            latency: None,
        };
        talk.take(now);
        talk
    }

    /// Waits until the agent's turn is over, or until the limit. Keeps only the turns and tool calls of this time.
    async fn until_next(&mut self, state: &RestState, limit: Instant) {
        self.answer.turns.clear();
        self.answer.tool_calls.clear();
        while self.answer.next != Next::Nobody {
            if self.answer.next == Next::User && self.events.is_empty() {
                // The state comes before the turns that belong to it. The call answers after it has sent both.
                state.switchboard.inspect_call(self.answer.conversation_id).await;
                if self.events.is_empty() {
                    return;
                }
            }
            match timeout_at(limit, self.events.recv()).await {
                Ok(Ok(event)) => self.take(event),
                Ok(Err(RecvError::Lagged(_))) => {}
                Ok(Err(RecvError::Closed)) => self.answer.next = Next::Nobody,
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::State { state, .. } => {
                self.answer.next = match state {
                    LiveState::Listening => Next::User,
                    _ => Next::Agent,
                };
            }
            LiveEvent::End => self.answer.next = Next::Nobody,
            LiveEvent::Turn(fact) if fact.speaker == Speaker::Agent => {
                let mut turn = turn_of(*fact);
                let latency = self.latency.take_if(|(start_ms, _)| *start_ms == turn.start_ms);
                turn.latency = latency.map(|(_, latency)| latency);
                self.answer.turns.push(turn);
            }
            LiveEvent::Recorded(event) => self.recorded(&event),
            LiveEvent::Turn(_) | LiveEvent::Words { .. } | LiveEvent::Operator { .. } | LiveEvent::Node { .. } => {}
        }
    }

    fn recorded(&mut self, event: &EventFact) {
        if let Some(latency) = latency_of(event) {
            self.latency = Some((event.at_ms, latency));
        }
        let kind = EventType::parse(&event.name);
        let (Some(EventType::BuiltInTool | EventType::ToolBegan | EventType::ToolAnswered), Ok(call)) =
            (kind, serde_json::from_str::<ToolCall>(&event.detail))
        else {
            return;
        };
        let begun = |begun: &&mut ToolCall| call.run.is_some() && begun.run == call.run;
        match self.answer.tool_calls.iter_mut().find(begun) {
            Some(begun) => begun.result = call.result,
            None => self.answer.tool_calls.push(call),
        }
    }
}
