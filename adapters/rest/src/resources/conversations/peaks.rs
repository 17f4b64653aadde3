//! `GET /public/v1/conversations/{conversationId}/recording/peaks`: what a waveform is drawn from.

use axum::extract::State;
use domain::id::AttemptId;
use serde::Serialize;
use storage::recordings::peaks::{Peaks, peaks};
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::recording::{finished, unread};
use crate::{
    caller::Caller,
    request::{
        path_id::PathId,
        query::{Parameters, Query, RawQuery},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult},
    },
    state::RestState,
};

/// Recordings that this node reads at once.
const AT_ONCE: usize = 2;
static READING: Semaphore = Semaphore::const_new(AT_ONCE);

const DEFAULT_POINTS: u32 = 1_000;

/// Peaks of a recording.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordingPeaks {
    /// Duration of the recording in milliseconds.
    duration_ms: u64,
    /// Loudest samples of the user in equal spans of the recording, from 0 to 255.
    user: Vec<u8>,
    /// Loudest samples of the agent in the same spans.
    agent: Vec<u8>,
}

/// Parameters of the peaks.
#[derive(Debug, Clone, Copy)]
pub struct PeaksParameters {
    points: u32,
}

impl Parameters for PeaksParameters {
    const NAMES: &'static [&'static str] = &["points"];

    fn read(query: &mut RawQuery) -> Self {
        let points = query.parsed("points", "a whole number from 10 to 5000", |text| {
            text.parse().ok().filter(|points| (10..=5_000).contains(points))
        });
        Self {
            points: points.unwrap_or(DEFAULT_POINTS),
        }
    }
}

/// Handles the request.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    Query(PeaksParameters { points }): Query<PeaksParameters>,
) -> ApiResult<Reply> {
    let path = finished(&state, &account, id).await?;
    let _turn = READING.acquire().await.map_err(|_| ApiError::Internal)?;
    let file = path.clone();
    let found = tokio::task::spawn_blocking(move || peaks(&file, points)).await;
    let found = found.map_err(|_| ApiError::Internal)?;
    let Peaks {
        duration_ms,
        user,
        agent,
    } = found.map_err(|error| unread(&error, &path))?;
    Ok(Reply::ok(RecordingPeaks {
        duration_ms,
        user,
        agent,
    }))
}
