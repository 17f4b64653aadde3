//! HTTP tools that agents use in calls.

use axum::{Router, extract::State, response::Response, routing::get};
use domain::{
    id::ToolId,
    ports::store::{Account, HttpTool, KeyTicket, StoreError, ToolRow},
    prompt::is_built_in,
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;
use utoipa::ToSchema;

use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::JsonObject,
        cursor::Binding,
        fields::{Fields, patched},
        optimistic::{IfMatch, until_written},
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch, removed},
    },
    state::RestState,
};
use integrations::{
    calendars::{BOOK_APPOINTMENT, FIND_SLOTS},
    http_tools::{METHODS, problem_of},
};
use net::address_policy::{ALLOW_PRIVATE, AddressPolicy};

const FIELDS: [&str; 6] = ["name", "description", "parameters", "url", "method", "timeoutMs"];

/// Maximum length of a name in characters, as language models accept it.
const NAME_CHARACTERS: usize = 64;
/// Maximum length of a description in characters.
const DESCRIPTION_CHARACTERS: usize = 4_000;
/// Maximum length of a URL in characters.
const URL_CHARACTERS: usize = 2_048;
/// Valid time limits of a request, in milliseconds.
const TIMEOUT_MS: std::ops::RangeInclusive<i64> = 100..=30_000;
/// Default time limit of a request, in milliseconds.
const DEFAULT_TIMEOUT_MS: i64 = 10_000;

/// When a resource was created and last changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTimes {
    /// When it was created; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl ChangeTimes {
    /// Creates the object for these times.
    pub fn of(created_at: Timestamp, updated_at: Timestamp) -> Self {
        Self {
            created_at: created_at.to_iso8601(),
            updated_at: updated_at.to_iso8601(),
        }
    }
}

/// An HTTP tool.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpTool)]
#[serde(rename_all = "camelCase")]
pub struct ShownTool {
    /// Id of the tool.
    #[schema(value_type = String, format = "uuid")]
    pub tool_id: ToolId,
    /// Name by which the model calls the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// URL of the tool.
    pub url: String,
    /// HTTP method of the request.
    #[schema(value_type = ToolMethod)]
    pub method: String,
    /// Time limit of the request, in milliseconds.
    #[schema(minimum = 100, maximum = 30000)]
    pub timeout_ms: i64,
    /// When the tool was created and last changed.
    pub metadata: ChangeTimes,
}

/// HTTP method of a tool's request.
#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
pub enum ToolMethod {
    /// Sends the arguments in the query.
    Get,
    /// Sends the arguments in the body.
    Post,
    /// Sends the arguments in the body.
    Put,
    /// Sends the arguments in the body.
    Patch,
    /// Sends the arguments in the query.
    Delete,
}

/// Id of a deleted tool.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDeleted {
    /// Id of the tool.
    #[schema(value_type = String, format = "uuid")]
    pub tool_id: ToolId,
    /// Always true.
    pub deleted: bool,
}

/// Returns the routes below `/public/v1/tools`.
pub fn routes() -> Router<RestState> {
    Router::new()
        .route("/public/v1/tools", get(list).post(create))
        .route("/public/v1/tools/{toolId}", get(show).patch(patch).delete(delete))
}

async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create tool", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| state.store.tool(account.id, id).await.or_no_such("tool"),
            |row| Reply::created(view(row)).version(row.version),
        )
        .await
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<ToolRow> {
    let tool = read(body, &state.address_policy)?;
    let name = tool.name.clone();
    let made = state.store.create_tool(account.id, tool, ticket).await;
    made.map_err(|error| taken(error, &name))
}

fn taken(error: StoreError, name: &str) -> ApiError {
    match error {
        StoreError::Exists(_) => ApiError::Conflict(
            Conflict::Changed,
            format!(
                "another tool of this account is called `{name}`: models tell tools by their names; choose another"
            ),
        ),
        other => other.into(),
    }
}

/// Reads a tool from a body.
fn read(body: &Map<String, Value>, policy: &AddressPolicy) -> ApiResult<HttpTool> {
    let mut fields = Fields::of(body, "");
    fields.only(&FIELDS);
    let name = name(&mut fields);
    let description = description(&mut fields);
    let url = url(&mut fields, policy);
    let method = method(&mut fields);
    let timeout_ms = fields.integer("timeoutMs", TIMEOUT_MS);
    let parameters = fields.value("parameters").cloned();
    let parameters = parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    if let Some((code, message)) = problem_of(&parameters) {
        fields.problem("parameters", code, message);
    }
    match (name, description, url) {
        (Some(name), Some(description), Some(url)) if fields.problems.is_empty() => Ok(HttpTool {
            name,
            description,
            parameters,
            url,
            method,
            timeout_ms: timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        }),
        _ => Err(ApiError::Invalid(fields.problems)),
    }
}

fn name(fields: &mut Fields<'_>) -> Option<String> {
    let text = fields.required_string("name")?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !(1..=NAME_CHARACTERS).contains(&text.len()) || !text.chars().all(allowed) {
        let message = format!("must have 1 to {NAME_CHARACTERS} of the characters a-z, A-Z, 0-9, `_` and `-`");
        fields.problem("name", "not_allowed", message);
    } else if is_built_in(text) || is_calendars(text) {
        let message = format!("`{text}` is a built-in tool; choose another name");
        fields.problem("name", "not_allowed", message);
    }
    Some(text.to_owned())
}

/// Calendar tools are offered beside an agent's own tools, so those cannot have the same names.
fn is_calendars(name: &str) -> bool {
    [FIND_SLOTS, BOOK_APPOINTMENT]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}

fn description(fields: &mut Fields<'_>) -> Option<String> {
    let text = fields.required_string("description")?.trim();
    let length = text.chars().count();
    match length {
        0 => fields.problem(
            "description",
            "required",
            "must not be blank: it tells the model when to use the tool",
        ),
        1..=DESCRIPTION_CHARACTERS => {}
        _ => {
            let message = format!("has {length} characters; at most {DESCRIPTION_CHARACTERS} are allowed");
            fields.problem("description", "too_long", message);
        }
    }
    Some(text.to_owned())
}

/// Reads the field `url`: an address that the service may connect to.
pub fn url(fields: &mut Fields<'_>, policy: &AddressPolicy) -> Option<String> {
    let text = fields.required_string("url")?;
    let parsed = Url::parse(text).ok().filter(|url| {
        let http = matches!(url.scheme(), "http" | "https");
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        http && plain && text.contains("://") && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    });
    if text.chars().count() > URL_CHARACTERS {
        fields.problem("url", "too_long", format!("has more than {URL_CHARACTERS} characters"));
        return None;
    }
    let Some(parsed) = parsed else {
        let message = format!(
            "{text:?} is not a valid HTTP URL: give one such as `https://example.com/hours`, without a password, `#` or \
             spaces"
        );
        fields.problem("url", "invalid_url", message);
        return None;
    };
    if let Err(refused) = policy.check_literal(&parsed) {
        fields.problem("url", "address_not_allowed", format!("{refused}; {ALLOW_PRIVATE}"));
        return None;
    }
    Some(text.to_owned())
}

fn method(fields: &mut Fields<'_>) -> String {
    let text = fields.string("method").unwrap_or("POST");
    if !METHODS.contains(&text) {
        let message = format!("`{text:.20}` is not one of {}", METHODS.join(", "));
        fields.problem("method", "not_allowed", message);
    }
    text.to_owned()
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "tools", String::new());
    let after = binding.after(paging.cursor.as_deref())?;
    let rows = state.store.tools(account.id, after, paging.page_size + 1).await?;
    Ok(binding.page(rows, paging.page_size, view, |row| (row.created_at, row.id.to_string())))
}

async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ToolId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.tool(account.id, id).await.or_no_such("tool")?;
    Ok(Reply::ok(view(&row)).version(row.version))
}

/// Applies a merge patch; `null` resets a field to its default.
async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ToolId>,
    expected: IfMatch,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let row = state.store.tool(account.id, id).await.or_no_such("tool")?;
        expected.check(row.version)?;
        let merged = patched(json!(row.tool), &patch, &[]);
        let new = read(merged.as_object().unwrap_or(&Map::new()), &state.address_policy)?;
        let name = new.name.clone();
        match state.store.update_tool(account.id, id, row.version, new).await {
            Err(error @ StoreError::Exists(_)) => Err(taken(error, &name)),
            outcome => Ok(outcome),
        }
    });
    let row = outcome.await?.or_no_such("tool")?;
    Ok(Reply::ok(view(&row)).version(row.version))
}

async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ToolId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_tool(account.id, id).await;
    removed(removal.or_no_such("tool")?, "tool")?;
    Ok(Reply::ok(ToolDeleted {
        tool_id: id,
        deleted: true,
    }))
}

fn view(row: &ToolRow) -> ShownTool {
    let tool = row.tool.clone();
    ShownTool {
        tool_id: row.id,
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters,
        url: tool.url,
        method: tool.method,
        timeout_ms: tool.timeout_ms,
        metadata: ChangeTimes::of(row.created_at, row.updated_at),
    }
}
