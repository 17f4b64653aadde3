//! HTTP tools that agents use in calls.

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use domain::{
    agent::merge,
    id::ToolId,
    ports::store::{Account, HttpTool, KeyTicket, Removal, StoreError, ToolRow},
    prompt::is_built_in,
};
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    RestState,
    auth::Caller,
    body::JsonObject,
    cursor::Binding,
    envelope::Reply,
    error::{ApiError, ApiResult, Conflict, OrNoSuch},
    fields::Fields,
    idempotency::{IdempotencyKey, RequestHash, Turn},
    path_id::PathId,
    query::{NoParameters, Paging, Query},
};
use integrations::{
    calendars::{BOOK_APPOINTMENT, FIND_SLOTS},
    http_tools::{METHODS, problem_of},
};
use net::address_policy::{ALLOW_PRIVATE, AddressPolicy};

const FIELDS: [&str; 6] = ["name", "description", "parameters", "url", "method", "timeoutMs"];

/// Characters of a name, as language models take them.
const NAME_CHARACTERS: usize = 64;
/// Characters of a description.
const DESCRIPTION_CHARACTERS: usize = 4_000;
/// Characters of an address.
const URL_CHARACTERS: usize = 2_048;
/// Milliseconds of a request.
const TIMEOUT_MS: std::ops::RangeInclusive<i64> = 100..=30_000;
/// Those of a tool that names none.
const DEFAULT_TIMEOUT_MS: i64 = 10_000;

/// How often a patch is tried when other requests change the tool meanwhile.
const PATCH_TRIES: usize = 64;

/// Every route below `/public/v1/tools`.
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
    let hash = || RequestHash::of_json(&body);
    match key.take(&state, account.id, "create tool", hash).await? {
        Turn::Again(replay) => {
            let row = state.store.tool(account.id, replay.id()?).await.or_no_such("tool")?;
            Ok(replay.mark(Reply::created(view(&row))))
        }
        Turn::First(held) => {
            let made = make(&state, &account, &body, held.ticket()).await;
            Ok(Reply::created(view(&held.end(made).await?)).into_response())
        }
    }
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

/// A tool as a body gives it.
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
        let message = format!("`{text}` is a tool of the service's own; choose another name");
        fields.problem("name", "not_allowed", message);
    }
    Some(text.to_owned())
}

/// Offered beside an agent's own tools, so they cannot have its name.
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
            let message = format!("has {length} characters; at most {DESCRIPTION_CHARACTERS} are taken");
            fields.problem("description", "too_long", message);
        }
    }
    Some(text.to_owned())
}

fn url(fields: &mut Fields<'_>, policy: &AddressPolicy) -> Option<String> {
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
            "{text:?} is not taken: give an address of HTTP such as `https://example.com/hours`, without a password, `#` or \
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
    Ok(Reply::ok(view(
        &state.store.tool(account.id, id).await.or_no_such("tool")?,
    )))
}

/// A merge patch; `null` puts a field back to its default.
async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ToolId>,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let (mut outcome, mut name) = (Err(StoreError::Stale), String::new());
    for _ in 0..PATCH_TRIES {
        let row = state.store.tool(account.id, id).await.or_no_such("tool")?;
        let mut merged = Value::Object(shown(&row.tool));
        merge(&mut merged, &patch);
        let new = read(merged.as_object().unwrap_or(&Map::new()), &state.address_policy)?;
        name.clone_from(&new.name);
        outcome = state.store.update_tool(account.id, id, row.version, new).await;
        if outcome != Err(StoreError::Stale) {
            break;
        }
    }
    if let Err(error @ StoreError::Exists(_)) = outcome {
        return Err(taken(error, &name));
    }
    Ok(Reply::ok(view(&outcome.or_no_such("tool")?)))
}

async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<ToolId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    match state.store.delete_tool(account.id, id).await.or_no_such("tool")? {
        Removal::Done => Ok(Reply::ok(json!({ "toolId": id, "deleted": true }))),
        Removal::Held(holders) => Err(ApiError::held("tool", &holders)),
    }
}

fn shown(tool: &HttpTool) -> Map<String, Value> {
    let shown = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "url": tool.url,
        "method": tool.method,
        "timeoutMs": tool.timeout_ms,
    });
    shown.as_object().cloned().unwrap_or_default()
}

fn view(row: &ToolRow) -> Value {
    let mut tool = Map::new();
    tool.insert("toolId".into(), json!(row.id));
    tool.extend(shown(&row.tool));
    let metadata = json!({ "createdAt": row.created_at.to_iso8601(), "updatedAt": row.updated_at.to_iso8601() });
    tool.insert("metadata".into(), metadata);
    Value::Object(tool)
}
