//! Webhook endpoints: URLs that receive the account's events, and the deliveries to them.

use axum::{
    Router,
    extract::{Path, State, rejection::PathRejection},
    response::Response,
    routing::{get, post},
};
use domain::{
    accounts::generate_webhook_secret,
    id::{AccountEventId, AccountId, DeliveryId, WebhookId},
    ports::store::{
        Account, AccountEvent, DeliveryState, KeyTicket, MAX_WEBHOOKS, RecentDeliveries, TypePattern, WEBHOOK_TEST,
        WebhookDelivery, WebhookEndpoint, WebhookRow,
    },
    time::Timestamp,
};
use net::address_policy::AddressPolicy;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::events::choices;
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::{JsonObject, OptionalJsonObject},
        cursor::Binding,
        fields::{self, Fields},
        optimistic::{IfMatch, until_written},
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    resources::agents::tools::{ChangeTimes, url},
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Name of the resource in messages.
const THING: &str = "webhook";
const FIELDS: [&str; 4] = ["url", "description", "types", "enabled"];
/// Maximum length of a description in characters.
const DESCRIPTION_CHARACTERS: usize = 500;
/// Maximum number of entries in `types`.
const MAX_TYPES: usize = 30;

/// A webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
#[serde(rename_all = "camelCase")]
pub struct ShownWebhook {
    /// Id of the endpoint.
    #[schema(value_type = String, format = "uuid")]
    pub webhook_id: WebhookId,
    /// URL that receives the events.
    pub url: String,
    /// Description for people.
    pub description: String,
    /// Types of events that it receives.
    #[schema(value_type = Vec<String>)]
    pub types: Vec<TypePattern>,
    /// Whether it receives events.
    pub enabled: bool,
    /// Secret that signs its deliveries; only in the answer that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Counts of its latest deliveries, at most 1,000.
    pub recent: RecentDeliveries,
    /// When the endpoint was created and last changed.
    pub metadata: ChangeTimes,
}

/// A new secret, shown only once.
#[derive(Serialize, ToSchema)]
pub struct EndpointSecret {
    /// Secret in the format of the Standard Webhooks specification.
    pub secret: String,
}

/// Id of a deleted endpoint.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeleted {
    /// Id of the endpoint.
    #[schema(value_type = String, format = "uuid")]
    pub webhook_id: WebhookId,
    /// Always true.
    pub deleted: bool,
}

/// A delivery to a webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
#[serde(rename_all = "camelCase")]
pub struct ShownDelivery {
    /// Id of the delivery, the `webhook-id` of all its tries.
    #[schema(value_type = String, format = "uuid")]
    pub delivery_id: DeliveryId,
    /// Type of the event, or `webhook.test`.
    #[serde(rename = "type")]
    pub event_type: &'static str,
    /// Id of the event; a test has none.
    #[schema(value_type = Option<String>, format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<AccountEventId>,
    /// State of the delivery.
    #[schema(value_type = DeliveryState)]
    pub state: &'static str,
    /// Number of finished tries.
    #[schema(minimum = 0)]
    pub attempts: i64,
    /// Error of the last try that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Beginning of the body with which the receiver answered the last try, at most 2 KiB. Omitted if it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// Time of the next try; ISO 8601, UTC.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<String>,
    /// Body of the request.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Time of creation; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Returns the routes below `/public/v1/webhooks`.
pub fn routes() -> Router<RestState> {
    let one = get(show).patch(patch).delete(delete);
    let resend = post(resend);
    Router::new()
        .route("/public/v1/webhooks", get(list).post(create))
        .route("/public/v1/webhooks/{webhookId}", one)
        .route("/public/v1/webhooks/{webhookId}/rotate-secret", post(rotate))
        .route("/public/v1/webhooks/{webhookId}/test", post(test))
        .route("/public/v1/webhooks/{webhookId}/deliveries", get(deliveries))
        .route("/public/v1/webhooks/{webhookId}/deliveries/{deliveryId}/resend", resend)
}

async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let turn = key.take(&state, account.id, "create webhook", || RequestHash::of_json(&body));
    turn.await?
        .answer(
            async |ticket| make(&state, &account, &body, ticket.as_ref()).await,
            async |id| {
                let row = state.store.webhook(account.id, id).await.or_no_such(THING)?;
                Ok((row, None))
            },
            |(row, secret)| {
                let shown = ShownWebhook {
                    secret: secret.clone(),
                    ..view(row, RecentDeliveries::default())
                };
                Reply::created(shown).version(row.version)
            },
        )
        .await
}

async fn make(
    state: &RestState,
    account: &Account,
    body: &Map<String, Value>,
    ticket: Option<&KeyTicket>,
) -> ApiResult<(WebhookRow, Option<String>)> {
    let new = read(body, &state.address_policy)?;
    let secret = generate_webhook_secret();
    let made = state
        .store
        .create_webhook(account.id, new, secret.clone(), ticket)
        .await?;
    let full = || {
        let message = format!("an account has at most {MAX_WEBHOOKS} webhooks; delete one first");
        ApiError::Conflict(Conflict::Changed, message)
    };
    Ok((made.ok_or_else(full)?, Some(secret)))
}

/// Reads an endpoint from a body.
fn read(body: &Map<String, Value>, policy: &AddressPolicy) -> ApiResult<WebhookEndpoint> {
    let mut fields = Fields::of(body, "");
    fields.only(&FIELDS);
    let url = url(&mut fields, policy);
    let description = fields.string("description").unwrap_or_default().trim().to_owned();
    let length = description.chars().count();
    if length > DESCRIPTION_CHARACTERS || description.contains('\0') {
        let message = format!("must have at most {DESCRIPTION_CHARACTERS} characters, none of them U+0000");
        fields.problem("description", "not_allowed", message);
    }
    let types = types(&mut fields);
    let enabled = fields.value("enabled").is_none() || fields.flag("enabled");
    match url {
        Some(url) if fields.problems.is_empty() => Ok(WebhookEndpoint {
            url,
            description,
            types,
            enabled,
        }),
        _ => Err(ApiError::Invalid(fields.problems)),
    }
}

/// Reads `types`; all by default.
fn types(fields: &mut Fields<'_>) -> Vec<TypePattern> {
    let Some(sent) = fields.array("types") else {
        return TypePattern::parse("*").into_iter().collect();
    };
    if !(1..=MAX_TYPES).contains(&sent.len()) {
        fields.problem("types", "out_of_range", format!("must have 1 to {MAX_TYPES} entries"));
        return Vec::new();
    }
    let mut types = Vec::new();
    for (at, value) in sent.iter().enumerate() {
        match value.as_str().and_then(TypePattern::parse) {
            Some(pattern) => types.push(pattern),
            None => {
                let shown: String = value.to_string().chars().take(50).collect();
                let message = format!("`{shown}` is not one of {}", choices());
                fields.problem(&format!("types[{at}]"), "invalid_value", message);
            }
        }
    }
    types
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "webhooks", String::new());
    let after = binding.after(paging.cursor.as_deref())?;
    let mut rows = Vec::new();
    for row in state.store.webhooks(account.id, after, paging.page_size + 1).await? {
        let recent = state.store.recent_deliveries(row.id).await?;
        rows.push((row, recent));
    }
    let view = |(row, recent): &(WebhookRow, RecentDeliveries)| view(row, *recent);
    Ok(binding.page(rows, paging.page_size, view, |(row, _)| {
        (row.created_at, row.id.to_string())
    }))
}

async fn shown(state: &RestState, row: &WebhookRow) -> ApiResult<Reply> {
    let recent = state.store.recent_deliveries(row.id).await?;
    Ok(Reply::ok(view(row, recent)).version(row.version))
}

async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.webhook(account.id, id).await.or_no_such(THING)?;
    shown(&state, &row).await
}

/// Applies a merge patch; `null` resets a field to its default.
async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    expected: IfMatch,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let row = state.store.webhook(account.id, id).await.or_no_such(THING)?;
        expected.check(row.version)?;
        let merged = fields::patched(json!(row.endpoint), &patch, &[]);
        let new = read(merged.as_object().unwrap_or(&Map::new()), &state.address_policy)?;
        Ok(state.store.update_webhook(account.id, id, row.version, new).await)
    });
    let row = outcome.await?.or_no_such(THING)?;
    shown(&state, &row).await
}

async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    state.store.delete_webhook(account.id, id).await.or_no_such(THING)?;
    Ok(Reply::ok(WebhookDeleted {
        webhook_id: id,
        deleted: true,
    }))
}

/// Replaces the secret. The old secret stays valid for a day.
async fn rotate(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    let secret = generate_webhook_secret();
    let rotated = state.store.rotate_secret(account.id, id, secret.clone()).await;
    rotated.or_no_such(THING)?;
    Ok(Reply::ok(EndpointSecret { secret }))
}

/// Returns an error if the endpoint is disabled.
async fn require_enabled(state: &RestState, account: AccountId, id: WebhookId) -> ApiResult<()> {
    let row = state.store.webhook(account, id).await.or_no_such(THING)?;
    if row.endpoint.enabled {
        return Ok(());
    }
    let message = "this webhook is disabled; set `enabled` to true first";
    Err(ApiError::Conflict(Conflict::Changed, message.into()))
}

async fn test(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    require_enabled(&state, account.id, id).await?;
    let made = state.store.test_webhook(account.id, id).await.or_no_such(THING)?;
    Ok(Reply::ok(view_delivery(&made)))
}

async fn deliveries(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    state.store.webhook(account.id, id).await.or_no_such(THING)?;
    let binding = Binding::new(account.id, "webhook deliveries", id.to_string());
    let after = binding.after::<DeliveryId>(paging.cursor.as_deref())?;
    let after = after.map(|(_, delivery)| delivery);
    let rows = state.store.webhook_deliveries(id, after, paging.page_size + 1).await?;
    Ok(binding.page(rows, paging.page_size, view_delivery, |row| {
        (row.created_at, row.id.to_string())
    }))
}

async fn resend(
    State(state): State<RestState>,
    Caller(account): Caller,
    path: Result<Path<(WebhookId, DeliveryId)>, PathRejection>,
    _: Query<NoParameters>,
    OptionalJsonObject(body): OptionalJsonObject,
) -> ApiResult<Reply> {
    fields::none(&body)?;
    let Path((id, delivery)) = path.map_err(|_| ApiError::no_such("delivery"))?;
    require_enabled(&state, account.id, id).await?;
    let again = state.store.resend_delivery(id, delivery).await;
    Ok(Reply::ok(view_delivery(&again.or_no_such("delivery")?)))
}

fn view(row: &WebhookRow, recent: RecentDeliveries) -> ShownWebhook {
    let endpoint = row.endpoint.clone();
    ShownWebhook {
        webhook_id: row.id,
        url: endpoint.url,
        description: endpoint.description,
        types: endpoint.types,
        enabled: endpoint.enabled,
        secret: None,
        recent,
        metadata: ChangeTimes::of(row.created_at, row.updated_at),
    }
}

fn view_delivery(row: &WebhookDelivery) -> ShownDelivery {
    let event = row.event.as_ref();
    let next = (row.state == DeliveryState::Pending).then_some(row.due_at);
    ShownDelivery {
        delivery_id: row.id,
        event_type: event.map_or(WEBHOOK_TEST, |event| event.event_type.as_str()),
        event_id: event.map(|event| event.id),
        state: row.state.as_str(),
        attempts: row.failed + i64::from(row.state == DeliveryState::Done),
        last_error: row.last_error.clone(),
        response_body: row.reply.clone(),
        next_try_at: next.map(Timestamp::to_iso8601),
        body: event.map(AccountEvent::body),
        created_at: row.created_at.to_iso8601(),
    }
}
