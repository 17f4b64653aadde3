//! `GET /public/v1/conversations/{conversationId}/live`: what happens in a call while it lasts, as server-sent events.

use std::sync::Arc;

use actors::live_feed::{Following, LiveEvent};
use axum::{
    extract::State,
    response::{IntoResponse, Response, sse::Event},
};
use domain::{
    conversation,
    id::{AccountId, AttemptId},
    ports::store::Store,
};
use peers::Shown;
use serde_json::{Value, json};
use tokio::{
    sync::{
        broadcast::{Receiver, error::RecvError},
        watch,
    },
    time::{Instant, timeout},
};

use super::{
    commands::{require_in_progress, status},
    tickets::{elsewhere, require_allowed, why_not_anymore},
};
use crate::{
    caller::{Caller, Credential},
    limits::concurrency_limit::ConcurrencySlot,
    request::{
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::error::{ApiError, ApiResult},
    sse::{self, HEARTBEAT, Source},
    state::RestState,
};

/// Handles the request.
pub async fn stream(
    State(state): State<RestState>,
    Caller(account): Caller,
    credential: Credential,
    PathId(id): PathId<AttemptId>,
    _: Query<NoParameters>,
) -> ApiResult<Response> {
    require_in_progress(status(&state, account.id, id).await?)?;
    require_allowed(&state, account.id).await?;
    if let Some(elsewhere) = elsewhere(&state, id, Shown::Vouched).await? {
        return Ok(elsewhere.follows().into_response());
    }
    let slot = sse::slot(&state.event_stream_limit, account.id)?;
    let Following { now, events, .. } = follow(&state, id, None).await?;
    Ok(sse::response(Feed {
        store: Arc::clone(&state.store),
        stopping: state.stopping.clone(),
        account: account.id,
        credential,
        checked_at: Instant::now(),
        now: Some(now),
        events,
        sent: 0,
        _slot: slot,
    }))
}

/// Follows a call of this node. `listener` is the name of a client that also gets the audio.
pub async fn follow(state: &RestState, id: AttemptId, listener: Option<String>) -> ApiResult<Following> {
    let found = state.switchboard.follow_call(id, listener).await;
    found.ok_or_else(|| {
        ApiError::Unavailable("this node does not have the call at this moment; read its status, and try again".into())
    })
}

/// Waits until the service stops.
pub async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the service has ended.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Feed of one reader.
struct Feed {
    store: Arc<dyn Store>,
    stopping: watch::Receiver<bool>,
    account: AccountId,
    credential: Credential,
    /// Time at which the client was last known to be allowed to follow the call.
    checked_at: Instant,
    /// First event: how things are.
    now: Option<LiveEvent>,
    events: Receiver<LiveEvent>,
    /// Number of events that were sent.
    sent: u64,
    _slot: ConcurrencySlot,
}

impl Source for Feed {
    async fn advance(&mut self, events: &mut Vec<Event>) -> bool {
        if let Some(now) = self.now.take() {
            return self.show(now, events);
        }
        if self.checked_at.elapsed() >= HEARTBEAT {
            let lost = why_not_anymore(&*self.store, self.account, &self.credential).await;
            if lost.is_some() {
                return false;
            }
            self.checked_at = Instant::now();
        }
        let received = tokio::select! {
            received = timeout(HEARTBEAT, self.events.recv()) => received,
            // The client opens the stream again, perhaps at another node.
            () = stopped(&mut self.stopping) => return false,
        };
        match received {
            Ok(Ok(event)) => self.show(event, events),
            Ok(Err(RecvError::Lagged(count))) => self.push(events, "lost", &json!({ "count": count })),
            Ok(Err(RecvError::Closed)) => false,
            Err(_) => true,
        }
    }
}

impl Feed {
    /// Appends an event. Returns whether more may follow.
    fn show(&mut self, event: LiveEvent, events: &mut Vec<Event>) -> bool {
        let (name, data) = match event {
            LiveEvent::State { state, since } => ("state", json!({ "state": state, "since": since.to_iso8601() })),
            LiveEvent::Words {
                speaker,
                text,
                is_final,
            } => ("words", json!({ "speaker": speaker, "text": text, "final": is_final })),
            LiveEvent::Operator { by } => ("operator", json!({ "by": by })),
            LiveEvent::Node { node } => ("node", json!({ "node": node })),
            LiveEvent::Turn(turn) => ("turn", json!(conversation::turn_of(*turn))),
            // Clients read recorded events from the lists.
            LiveEvent::Recorded(_) => return true,
            LiveEvent::End => ("end", json!({})),
        };
        self.push(events, name, &data) && name != "end"
    }

    fn push(&mut self, events: &mut Vec<Event>, name: &str, data: &Value) -> bool {
        self.sent += 1;
        events.push(sse::event(name, &self.sent.to_string(), data));
        true
    }
}
