//! Endpoints for commands between nodes, other than forwarded requests.

use std::sync::Arc;

use actors::{call::CallCommand, switchboard::Switchboard};
use axum::{Json, Router, extract::Path, http::StatusCode, middleware, routing::post};
use domain::id::AttemptId;

use super::{
    Peers, layer,
    paths::{FORGET_SPEECH, PRESENT},
};

/// Most calls of a question for their present states: a page of a list.
pub const MOST_LISTED: usize = 100;

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
