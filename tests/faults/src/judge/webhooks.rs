//! The receiver of webhooks. It fails the first attempt of some, or loses the response.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use rand::Rng;
use serde_json::Value;

use super::Judge;
use crate::{
    chance::{self, Manner},
    journal::Event,
};

/// Receives a webhook.
pub async fn receive(State(judge): State<Arc<Judge>>, headers: HeaderMap, body: Bytes) -> Response {
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or("");
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let attempt = told["data"]["conversationId"].as_str().unwrap_or("");
    let nth = judge.count(&format!("webhook {attempt}"));
    // By the contact's number, which is the same in every run of a seed.
    let number = told["data"]["contactNumber"].as_str().unwrap_or(attempt);
    let mut rng = chance::of(judge.seed, &format!("webhook {number}"));
    let answer = match rng.random_range(0..100) {
        _ if nth > 0 || judge.manner != Manner::Faulty => StatusCode::OK,
        0..4 => StatusCode::INTERNAL_SERVER_ERROR,
        4..6 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    let _ = judge.journal.write(Event::Webhook {
        id: id.to_owned(),
        attempt: attempt.to_owned(),
        answer: answer.as_u16(),
    });
    answer.into_response()
}
