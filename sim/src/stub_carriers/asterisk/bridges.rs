//! Bridges: which channels hear each other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::stub::{Asterisk, refusal};
use crate::stub_carriers::settings::locked;

/// All bridges.
#[derive(Default)]
pub(super) struct Bridges {
    bridges: Mutex<BTreeMap<String, Vec<String>>>,
    sounds: Mutex<Vec<String>>,
}

impl Bridges {
    pub(super) fn all(&self) -> BTreeMap<String, Vec<String>> {
        locked(&self.bridges).clone()
    }

    /// Removes a channel from its bridge.
    pub(super) fn leave(&self, channel: &str) {
        for inside in locked(&self.bridges).values_mut() {
            inside.retain(|id| id != channel);
        }
    }

    /// Returns the other channels in the same bridge.
    pub(super) fn others(&self, channel: &str) -> Vec<String> {
        let bridges = locked(&self.bridges);
        let with = bridges.values().find(|inside| inside.iter().any(|id| id == channel));
        let others = with.into_iter().flatten().filter(|id| *id != channel);
        others.cloned().collect()
    }
}

fn shown(id: &str, channels: &[String]) -> Value {
    json!({
        "id": id, "technology": "simple_bridge", "bridge_type": "mixing", "bridge_class": "stasis", "creator": "Stasis",
        "name": id, "channels": channels, "creationtime": "2026-01-01T00:00:00.000+0000",
    })
}

type Asked = Query<BTreeMap<String, String>>;

pub(super) async fn list(State(stub): State<Arc<Asterisk>>) -> Json<Value> {
    let bridges = stub.bridges.all();
    Json(bridges.iter().map(|(id, channels)| shown(id, channels)).collect())
}

pub(super) async fn make(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>) -> Json<Value> {
    let mut bridges = locked(&stub.bridges.bridges);
    let channels = bridges.entry(id.clone()).or_default();
    Json(shown(&id, channels))
}

pub(super) async fn destroy(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>) -> Response {
    match locked(&stub.bridges.bridges).remove(&id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => refusal(StatusCode::NOT_FOUND, "Bridge not found"),
    }
}

pub(super) async fn add(State(stub): State<Arc<Asterisk>>, Path(id): Path<String>, Query(query): Asked) -> Response {
    let wanted = query.get("channel").map(String::as_str).unwrap_or_default();
    for name in wanted.split(',') {
        let Some(channel) = stub.channel(name) else {
            return refusal(StatusCode::BAD_REQUEST, "Channel not found");
        };
        if !channel.is_in_app() {
            stub.base
                .complain(format!("{name} joined a bridge before it was in the application"));
            return refusal(StatusCode::CONFLICT, "Channel not in Stasis application");
        }
        // A channel is in one bridge.
        stub.bridges.leave(name);
        let mut bridges = locked(&stub.bridges.bridges);
        let Some(inside) = bridges.get_mut(&id) else {
            return refusal(StatusCode::NOT_FOUND, "Bridge not found");
        };
        inside.push(name.to_owned());
    }
    StatusCode::NO_CONTENT.into_response()
}

pub(super) async fn play(
    State(stub): State<Arc<Asterisk>>,
    Path((id, sound)): Path<(String, String)>,
    Query(query): Asked,
) -> Response {
    if !locked(&stub.bridges.bridges).contains_key(&id) {
        return refusal(StatusCode::NOT_FOUND, "Bridge not found");
    }
    let media = query.get("media").cloned().unwrap_or_default();
    locked(&stub.bridges.sounds).push(sound.clone());
    let playback = json!({ "id": sound, "media_uri": media, "target_uri": format!("bridge:{id}"), "state": "queued" });
    (StatusCode::CREATED, Json(playback)).into_response()
}

pub(super) async fn stop(State(stub): State<Arc<Asterisk>>, Path(sound): Path<String>) -> Response {
    let mut sounds = locked(&stub.bridges.sounds);
    let playing = sounds.len();
    sounds.retain(|playing| *playing != sound);
    match sounds.len() < playing {
        true => StatusCode::NO_CONTENT.into_response(),
        false => refusal(StatusCode::NOT_FOUND, "Playback not found"),
    }
}
