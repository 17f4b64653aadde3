//! Endpoints for commands between nodes, other than forwarded requests.

use std::{sync::Arc, time::Duration};

use actors::{call::CallCommand, switchboard::Switchboard};
use axum::{Json, Router, extract::Path, http::StatusCode, middleware, routing::post};
use domain::id::AttemptId;

use super::{Peers, layer};

/// Time limit for another node to carry out a command.
pub(super) const DONE_WITHIN: Duration = Duration::from_secs(2);

/// Path of the command to drop cached speech that may contain personal data.
pub(super) const FORGET_SPEECH: &str = "/peers/speech/forget";

/// Path of the question for the present states of calls.
pub(super) const PRESENT: &str = "/peers/calls/present";

/// Most calls of a question for their present states: a page of a list.
pub const MOST_LISTED: usize = 100;

/// Path of the command to end a call that the node holds.
pub(super) fn end_of(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/end")
}

/// Path of a client's command to a call that the node holds.
pub(super) fn command_of(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/command")
}

/// Path of the command that says a call of the node was taken over.
pub(super) fn taken_over(attempt: AttemptId) -> String {
    format!("/peers/calls/{attempt}/taken-over")
}

/// Returns the router; it rejects requests that do not come from a node of this installation.
pub fn router(peers: &Peers, switchboard: Switchboard, forget_speech: Arc<dyn Fn() + Send + Sync>) -> Router {
    let told = switchboard.clone();
    let taken_over = move |Path(attempt): Path<AttemptId>| async move {
        match told.was_taken_over(attempt) {
            true => StatusCode::NO_CONTENT,
            false => StatusCode::SERVICE_UNAVAILABLE,
        }
    };
    let board = switchboard.clone();
    let command = move |Path(attempt): Path<AttemptId>, Json(command): Json<CallCommand>| async move {
        let answer = board.command_call(attempt, command).await;
        answer.map(Json).ok_or(StatusCode::SERVICE_UNAVAILABLE)
    };
    let board = switchboard.clone();
    let present = move |Json(mut attempts): Json<Vec<AttemptId>>| async move {
        attempts.truncate(MOST_LISTED);
        Json(board.present(&attempts).await)
    };
    let end = move |Path(attempt): Path<AttemptId>| async move { end(&switchboard, attempt).await };
    let forget = move || async move {
        forget_speech();
        StatusCode::NO_CONTENT
    };
    Router::new()
        .route("/peers/calls/{attempt}/end", post(end))
        .route("/peers/calls/{attempt}/command", post(command))
        .route("/peers/calls/{attempt}/taken-over", post(taken_over))
        .route(PRESENT, post(present))
        .route(FORGET_SPEECH, post(forget))
        .layer(middleware::from_fn_with_state(peers.clone(), layer::only_peers))
}

async fn end(switchboard: &Switchboard, attempt: AttemptId) -> StatusCode {
    match switchboard.end_call(attempt).await {
        Some(true) => StatusCode::NO_CONTENT,
        Some(false) => StatusCode::NOT_FOUND,
        None => StatusCode::SERVICE_UNAVAILABLE,
    }
}
