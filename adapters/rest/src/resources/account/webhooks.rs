//! Webhook endpoints: URLs that receive the account's events, and the deliveries to them.

use axum::extract::{Path, State, rejection::PathRejection};
use domain::{
    accounts::generate_webhook_secret,
    id::{AccountEventId, AccountId, DeliveryId, WebhookId},
    ports::store::{
        AccountEvent, DeliveryState, KeyTicket, MAX_WEBHOOKS, RecentDeliveries, Removal, StoreResult, TypePattern,
        WEBHOOK_TEST, WebhookDelivery, WebhookEndpoint, WebhookRow,
    },
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::events::{self, choices};
use crate::{
    caller::Caller,
    described::{common::NoFields, operation::Operation, samples},
    request::{
        body::OptionalBody,
        checked::Checked,
        cursor::Binding,
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    resources::{
        agents::tools::web_address,
        resource::{self, ChangeTimes, Examples, Names, Resource},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict, OrNoSuch},
    },
    state::RestState,
};

/// Name of the resource in messages.
const THING: &str = "webhook";

/// A webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
#[serde(rename_all = "camelCase")]
pub struct ShownWebhook {
    /// Id of the endpoint.
    #[schema(value_type = String, format = "uuid")]
    webhook_id: WebhookId,
    #[serde(flatten)]
    endpoint: WebhookEndpoint,
    /// Secret that signs its deliveries; only in the answer that creates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// Counts of its latest deliveries, at most 1,000.
    recent: RecentDeliveries,
    /// When the endpoint was created and last changed.
    metadata: ChangeTimes,
}

/// A new secret, shown only once.
#[derive(Serialize, ToSchema)]
pub struct EndpointSecret {
    /// Secret in the format of the Standard Webhooks specification.
    pub secret: String,
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

/// An endpoint with the counts of its deliveries.
pub struct Endpoint {
    row: WebhookRow,
    recent: RecentDeliveries,
    /// Secret, when it is new.
    secret: Option<String>,
}

impl Endpoint {
    async fn of(state: &RestState, row: WebhookRow) -> StoreResult<Self> {
        let recent = state.store.recent_deliveries(row.id).await?;
        let secret = None;
        Ok(Self { row, recent, secret })
    }
}

impl Resource for Endpoint {
    const NAMES: Names = Names {
        list: "/public/v1/webhooks",
        one: "/public/v1/webhooks/{webhookId}",
        id: "webhookId",
        thing: THING,
        things: "webhooks",
        type_name: "Webhook",
        creation: "create webhook",
        nested: &[],
    };
    type Id = WebhookId;
    type Body = WebhookEndpoint;
    type Shown = ShownWebhook;

    fn place(&self) -> (Timestamp, String) {
        (self.row.created_at, self.row.id.to_string())
    }

    fn version(&self) -> i64 {
        self.row.version
    }

    fn body(&self) -> Value {
        json!(self.row.endpoint)
    }

    fn shown(&self) -> ShownWebhook {
        ShownWebhook {
            webhook_id: self.row.id,
            endpoint: self.row.endpoint.clone(),
            secret: self.secret.clone(),
            recent: self.recent,
            metadata: ChangeTimes::of(self.row.created_at, self.row.updated_at),
        }
    }

    fn created(&self) -> ShownWebhook {
        let recent = RecentDeliveries::default();
        ShownWebhook { recent, ..self.shown() }
    }

    fn read(state: &RestState, body: &Map<String, Value>) -> ApiResult<WebhookEndpoint> {
        let mut body = Checked::<WebhookEndpoint>::of(body)
            .coded("description", "too_long", "not_allowed")
            .coded("types[", "wrong_type", "invalid_value");
        body.parse("url", |text| web_address(text, &state.address_policy));
        body.parse("description", |text| Ok(text.trim().to_owned()));
        body.parse_items("types", |text| match TypePattern::parse(text) {
            Some(_) => Ok(()),
            None => Err(("invalid_value", format!("`{text:.50}` is not one of {}", choices()))),
        });
        body.end()
    }

    async fn create(
        state: &RestState,
        account: AccountId,
        new: WebhookEndpoint,
        ticket: Option<&KeyTicket>,
    ) -> ApiResult<Self> {
        let secret = generate_webhook_secret();
        let made = state.store.create_webhook(account, new, secret.clone(), ticket).await?;
        let full = || {
            let message = format!("an account has at most {MAX_WEBHOOKS} webhooks; delete one first");
            ApiError::Conflict(Conflict::Changed, message)
        };
        Ok(Self {
            row: made.ok_or_else(full)?,
            recent: RecentDeliveries::default(),
            secret: Some(secret),
        })
    }

    async fn find(state: &RestState, account: AccountId, id: WebhookId) -> StoreResult<Self> {
        let row = state.store.webhook(account, id).await?;
        Self::of(state, row).await
    }

    async fn page(
        state: &RestState,
        account: AccountId,
        after: Option<(Timestamp, WebhookId)>,
        limit: i64,
    ) -> StoreResult<Vec<Self>> {
        let mut endpoints = Vec::new();
        for row in state.store.webhooks(account, after, limit).await? {
            endpoints.push(Self::of(state, row).await?);
        }
        Ok(endpoints)
    }

    async fn change(
        self,
        state: &RestState,
        account: AccountId,
        id: WebhookId,
        new: WebhookEndpoint,
    ) -> StoreResult<Self> {
        let row = state.store.update_webhook(account, id, self.row.version, new).await?;
        Self::of(state, row).await
    }

    async fn remove(state: &RestState, account: AccountId, id: WebhookId) -> StoreResult<Removal> {
        state.store.delete_webhook(account, id).await?;
        Ok(Removal::Done)
    }
}

/// Replaces the secret. The old secret stays valid for a day.
async fn rotate(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<WebhookId>,
    _: Query<NoParameters>,
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
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
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
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
    _: OptionalBody<NoFields>,
) -> ApiResult<Reply> {
    let Path((id, delivery)) = path.map_err(|_| ApiError::no_such("delivery"))?;
    require_enabled(&state, account.id, id).await?;
    let again = state.store.resend_delivery(id, delivery).await;
    Ok(Reply::ok(view_delivery(&again.or_no_such("delivery")?)))
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

fn delivery() -> Value {
    json!({
        "deliveryId": samples::DELIVERY,
        "type": "call.ended",
        "eventId": samples::EVENT,
        "state": "pending",
        "attempts": 1,
        "lastError": "the receiver answered 500",
        "responseBody": "the queue is full",
        "nextTryAt": "2026-06-01T07:00:05.000000Z",
        "body": samples::event(),
        "createdAt": samples::AT,
    })
}

/// Returns the operations of account events and webhook endpoints.
pub fn operations() -> Vec<Operation> {
    let shown = json!({
        "webhookId": samples::WEBHOOK,
        "url": "https://example.com/events",
        "description": "Dashboard",
        "types": ["call.*", "campaign.completed"],
        "enabled": true,
        "recent": { "succeeded": 41, "failed": 0, "pending": 1 },
        "metadata": { "createdAt": samples::AT, "updatedAt": samples::AT },
    });
    let mut created = shown.clone();
    created["secret"] = json!(samples::WEBHOOK_SECRET);
    created["recent"] = json!({ "succeeded": 0, "failed": 0, "pending": 0 });
    let examples = Examples {
        shown,
        created,
        new: json!({
            "least": { "url": "https://example.com/events" },
            "more": { "url": "https://example.com/events", "description": "Dashboard",
                      "types": ["call.*", "campaign.completed"], "enabled": true },
        }),
        change: json!({ "enabled": true }),
    };
    let [list, create, show, change, delete] = resource::operations::<Endpoint, WebhookEndpoint>(&examples);
    let tried = json!({
        "deliveryId": samples::DELIVERY,
        "type": "webhook.test",
        "state": "pending",
        "attempts": 0,
        "nextTryAt": samples::AT,
        "createdAt": samples::AT,
    });
    let private = "10.0.0.1 is not a public address";
    let disabled = "this webhook is disabled; set `enabled` to true first";
    vec![
        stream(),
        list,
        create
            .note("Only this answer shows the secret that signs the deliveries; a replay does not.")
            .conflict("conflict", "an account has at most 20 webhooks; delete one first")
            .invalid("url", "address_not_allowed", private),
        show,
        change.invalid("url", "address_not_allowed", private),
        delete,
        Operation::post(
            "/public/v1/webhooks/{webhookId}/rotate-secret",
            "rotateWebhookEndpointSecret",
            "Replace the secret of a webhook",
        )
        .by(rotate)
        .note("The old secret stays valid for 24 hours.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<EndpointSecret>(json!({ "secret": samples::WEBHOOK_SECRET })),
        Operation::post(
            "/public/v1/webhooks/{webhookId}/test",
            "testWebhook",
            "Send a test event",
        )
        .by(test)
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ShownDelivery>(tried)
        .conflict("conflict", disabled),
        Operation::get(
            "/public/v1/webhooks/{webhookId}/deliveries",
            "listWebhookDeliveries",
            "List the deliveries to a webhook, newest first",
        )
        .by(deliveries)
        .paged()
        .page::<ShownDelivery>(delivery()),
        Operation::post(
            "/public/v1/webhooks/{webhookId}/deliveries/{deliveryId}/resend",
            "resendWebhookDelivery",
            "Send a delivery again",
        )
        .by(resend)
        .note("It keeps its `webhook-id`, and its tries are counted anew.")
        .optional_body::<NoFields>(json!({ "nothing": {} }))
        .ok::<ShownDelivery>(delivery())
        .conflict("conflict", disabled),
    ]
}

fn stream() -> Operation {
    let uuid = || json!({ "type": "string", "format": "uuid" });
    let example = format!(
        "event: call.ended\nid: 4711.{}\ndata: {}\n\n",
        samples::EVENT,
        samples::event()
    );
    Operation::get("/public/v1/events", "accountEvents", "Get the events of the account")
        .by(events::stream)
        .note(
            "Server-sent events, beginning with the next one; the data of each is an `AccountEvent`. With \
             `Last-Event-ID`, beginning after that event. Events are kept for 30 days.",
        )
        .query("campaignId", "Only events of this campaign and its calls", uuid())
        .query("agentId", "Only events of this agent's calls and campaigns", uuid())
        .query(
            "type",
            "Only events of these types, separated by commas: types, groups such as `call.*`, or `*`",
            json!({ "type": "string", "example": "call.ended,campaign.*" }),
        )
        .header(
            "Last-Event-ID",
            "`id` of the last event that the client has, as it came",
        )
        .raw(
            "200",
            "text/event-stream",
            "Endless stream of events",
            json!({ "type": "string" }),
            json!(example),
        )
        .invalid(
            "campaignId",
            "not_found",
            "there is nothing with this id in this account",
        )
}
