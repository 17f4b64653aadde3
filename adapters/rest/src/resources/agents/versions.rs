//! Versions of an agent: listed, read, compared and restored.

use axum::{
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
};
use domain::{
    agent::{self, DIFFERENCES_LISTED, Difference},
    id::AgentId,
    ports::store::{AgentRow, AgentVersion, StoreError},
};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{save, view};
use crate::{
    caller::Caller,
    described::common::NoFields,
    request::{
        body::OptionalBody,
        cursor::Binding,
        optimistic::IfMatch,
        path_id::PathId,
        query::{NoParameters, Paging, Parameters, Query, RawQuery, plain_integer},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Name of the resource in messages.
const THING: &str = "version";

/// A version of an agent.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentVersion)]
#[serde(rename_all = "camelCase")]
pub struct ShownVersion {
    /// Number of the version.
    #[schema(minimum = 1)]
    pub version: i64,
    /// When it was saved; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub saved_at: String,
    /// Paths of the fields that the save changed, at most 200; empty for a new agent.
    pub changed_fields: Vec<String>,
}

/// Differences between two versions of an agent.
#[derive(Serialize, ToSchema)]
pub struct AgentDifferences {
    /// The version in the path.
    #[schema(minimum = 1)]
    pub version: i64,
    /// The version that it is compared with.
    #[schema(minimum = 1)]
    pub against: i64,
    /// Fields that differ, at most 200; `old` is the value in `against`, `new` the one in `version`.
    pub differences: Vec<Difference>,
}

/// Agent and version in the path.
#[derive(Debug, Clone, Copy)]
pub struct VersionPath(AgentId, i64);

impl<S: Sync + Send> FromRequestParts<S> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        path.ok()
            .and_then(|Path((agent, version))| Some(Self(agent.parse().ok()?, plain_integer(&version)?)))
            .ok_or_else(|| ApiError::no_such(THING))
    }
}

/// Handles the request.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AgentId>,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "agent versions", id.to_string());
    let after = binding.after::<i64>(paging.cursor.as_deref())?;
    let before = after.map(|(_, version)| version);
    let rows = state.store.agent_versions(account.id, id, before, paging.page_size + 1);
    let rows = rows.await.or_no_such("agent")?;
    Ok(binding.page(rows, paging.page_size, shown, |row| {
        (row.saved_at, row.version.to_string())
    }))
}

fn shown(row: &AgentVersion) -> ShownVersion {
    ShownVersion {
        version: row.version,
        saved_at: row.saved_at.to_iso8601(),
        changed_fields: row.changed.clone(),
    }
}

/// Handles the request.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    VersionPath(id, version): VersionPath,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.agent_version(account.id, id, version).await;
    Ok(Reply::ok(view(&row.or_no_such(THING)?, &account)?))
}

/// Parameters of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct DiffParameters {
    against: Option<i64>,
}

impl Parameters for DiffParameters {
    const NAMES: &'static [&'static str] = &["against"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            against: query.parsed("against", "the number of a version", plain_integer),
        }
    }
}

/// Handles the request.
pub async fn diff(
    State(state): State<RestState>,
    Caller(account): Caller,
    VersionPath(id, version): VersionPath,
    Query(DiffParameters { against }): Query<DiffParameters>,
) -> ApiResult<Reply> {
    let new = state.store.agent_version(account.id, id, version).await;
    let new: AgentRow = new.or_no_such(THING)?;
    let old = match against {
        Some(against) => state.store.agent_version(account.id, id, against).await,
        None => state.store.agent(account.id, id).await,
    };
    let old: AgentRow = old.or_no_such(THING)?;
    let differences = agent::differences(&old.document, &new.document);
    let differences = differences.map_err(|error| StoreError::Damaged(format!("agent {id}: {error}")))?;
    let cut = differences.len() == DIFFERENCES_LISTED;
    let warning = cut.then(|| format!("more than the first {DIFFERENCES_LISTED} fields may differ"));
    let data = AgentDifferences {
        version,
        against: old.version,
        differences,
    };
    Ok(Reply::ok(data).warning(warning))
}

/// Saves an old version again, as a change to the agent's whole document.
pub async fn restore(
    State(state): State<RestState>,
    Caller(account): Caller,
    VersionPath(id, version): VersionPath,
    expected: IfMatch,
    _: Query<NoParameters>,
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
    let kept = state.store.agent_version(account.id, id, version).await;
    let kept = kept.or_no_such(THING)?;
    save(&state, &account, (id, expected), |_| {
        agent::merge_patch(&kept.document, &json!({})).map_err(ApiError::Invalid)
    })
    .await
}
