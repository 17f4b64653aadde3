//! OpenAI's `/v1/embeddings`: vectors of a text's words, in which synonyms are the same.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    stub::{Stub, bearer, refused},
};

/// Dimensions of a vector.
const DIMENSIONS: usize = 256;

/// Words with the same meaning.
const MEANINGS: [&[&str]; 4] = [
    &[
        "dog", "dogs", "pet", "pets", "poodle", "animals", "hund", "perro", "chien",
    ],
    &["car", "cars", "vehicle", "vehicles", "parking", "garage", "automobile"],
    &["cost", "costs", "price", "prices", "fee", "charge", "expensive"],
    &["kid", "kids", "child", "children", "toddler"],
];

/// `/v1/embeddings`.
pub const EMBEDDINGS: Service = Service("/v1/embeddings");

pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new().route("/v1/embeddings", post(embed))
}

async fn embed(State(stub): State<Arc<Stub>>, headers: HeaderMap, body: Bytes) -> Response {
    stub.received(EMBEDDINGS, String::from_utf8_lossy(&body));
    if !stub.takes(bearer(&headers)) {
        return refusal(401);
    }
    match stub.fault(EMBEDDINGS) {
        Fault::Refuse(status) => return refusal(status),
        Fault::MalformedAfter(_) => return Json(json!({ "data": "none" })).into_response(),
        Fault::None => {}
        // A fault of a stream makes a response in one piece hang.
        _ => return std::future::pending().await,
    }
    let Some(texts) = texts(&body) else { return refusal(400) };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "object": "embedding", "index": index, "embedding": vector(text) }))
        .collect();
    Json(json!({ "object": "list", "data": data, "model": "stub", "usage": { "prompt_tokens": 1, "total_tokens": 1 } }))
        .into_response()
}

fn refusal(status: u16) -> Response {
    refused(status, json!({ "error": { "message": "refused" } }))
}

fn texts(body: &[u8]) -> Option<Vec<String>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let texts = body.get("input")?.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    let lower = text.to_lowercase();
    for word in lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
    {
        let known = MEANINGS.iter().position(|words| words.contains(&word));
        // FNV-1a for words of no known meaning.
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let other = MEANINGS.len() + usize::try_from(hash % (DIMENSIONS - MEANINGS.len()) as u64).unwrap_or(0);
        if let Some(number) = vector.get_mut(known.unwrap_or(other)) {
            *number += if known.is_some() { 4.0 } else { 1.0 };
        }
    }
    vector
}
