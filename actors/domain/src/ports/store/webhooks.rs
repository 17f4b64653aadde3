//! Webhook endpoints of an account, and the deliveries of its events to them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    account_events::{AccountEvent, TypePattern},
    deliveries::DeliveryState,
    directory::WebhookSecrets,
    error::StoreResult,
    idempotency::KeyTicket,
    tools::ToolUrl,
};
use crate::{
    id::{AccountId, DeliveryId, WebhookId},
    time::Timestamp,
};

/// Maximum endpoints of an account.
pub const MAX_WEBHOOKS: usize = 20;

/// Number of latest deliveries that are counted per endpoint.
pub const RECENT_DELIVERIES: i64 = 1_000;

/// Error of deliveries that were pending when their endpoint was disabled.
pub const DISABLED: &str = "the endpoint was disabled";

/// A webhook endpoint, as its account sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = NewWebhook)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEndpoint {
    /// URL that receives the events.
    #[schema(value_type = ToolUrl)]
    pub url: String,
    /// Description for people; empty by default.
    #[schema(max_length = 500)]
    #[serde(default)]
    pub description: String,
    /// Types of events that it receives; all by default.
    #[schema(value_type = Vec<EventTypePattern>, min_items = 1, max_items = 30)]
    #[serde(default = "all_types")]
    pub types: Vec<TypePattern>,
    /// Whether it receives events; true by default. Disabling it gives up its pending deliveries.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

fn all_types() -> Vec<TypePattern> {
    TypePattern::parse("*").into_iter().collect()
}

fn enabled() -> bool {
    true
}

/// A type of events, a group such as `call.*`, or `*`.
#[derive(utoipa::ToSchema)]
#[schema(
    pattern = r"^(\*|call\.(\*|started|answered|ended|analysed)|campaign\.(\*|draft|waiting|running|paused|stopped|completed|failed|delayed)|contact\.(\*|opted_out))$",
    example = "call.ended"
)]
pub struct EventTypePattern(pub String);

/// A webhook endpoint as it is stored. Its secret is read for deliveries only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    /// Id of the endpoint.
    pub id: WebhookId,
    /// Account that owns the endpoint.
    pub account: AccountId,
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Number of the version, from 1.
    pub version: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Numbers of the latest deliveries of an endpoint, at most [`RECENT_DELIVERIES`] in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentDeliveries {
    /// Deliveries that arrived.
    #[schema(minimum = 0)]
    pub succeeded: i64,
    /// Deliveries that were given up.
    #[schema(minimum = 0)]
    pub failed: i64,
    /// Deliveries that wait for a try.
    #[schema(minimum = 0)]
    pub pending: i64,
}

/// A delivery to a webhook endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookDelivery {
    /// Id of the delivery; the `webhook-id` of all its tries.
    pub id: DeliveryId,
    /// Event that it contains; `None` for a test.
    pub event: Option<AccountEvent>,
    /// State of the delivery.
    pub state: DeliveryState,
    /// Number of tries known to have failed.
    pub failed: i64,
    /// Time of the next try, or end of the lease.
    pub due_at: Timestamp,
    /// Error of the last try that failed.
    pub last_error: Option<String>,
    /// Beginning of the receiver's answer to the last try.
    pub reply: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// Address, secrets and content for a try of a delivery.
#[derive(Clone, PartialEq)]
pub struct WebhookMessage {
    /// URL of the endpoint now.
    pub url: String,
    /// Secrets of the endpoint.
    pub secrets: WebhookSecrets,
    /// Event that the delivery contains; `None` for a test.
    pub event: Option<AccountEvent>,
}

/// Webhook endpoints.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Creates an endpoint. Returns `None` if the account has [`MAX_WEBHOOKS`] already.
    async fn create_webhook(
        &self,
        account: AccountId,
        new: WebhookEndpoint,
        secret: String,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<Option<WebhookRow>>;

    /// Returns an endpoint, or `NotFound`.
    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookRow>;

    /// Returns the account's endpoints, newest first, after a position in the list, at most `limit`.
    async fn webhooks(
        &self,
        account: AccountId,
        after: Option<(Timestamp, WebhookId)>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookRow>>;

    /// Changes an endpoint. If it is disabled, gives up what waits for it. With another URL, or enabled again, a
    /// pause that its receiver asked for ends. Returns `NotFound`; `Stale` if it has
    /// another version.
    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        version: i64,
        new: WebhookEndpoint,
    ) -> StoreResult<WebhookRow>;

    /// Replaces the secret. The old one also signs for as long as a replaced secret of an account. Returns `NotFound`
    /// if there is no such endpoint.
    async fn rotate_secret(&self, account: AccountId, id: WebhookId, secret: String) -> StoreResult<()>;

    /// Deletes an endpoint with its deliveries. Returns `NotFound` if there is no such endpoint.
    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<()>;

    /// Counts the latest deliveries of an endpoint.
    async fn recent_deliveries(&self, id: WebhookId) -> StoreResult<RecentDeliveries>;

    /// Returns the deliveries of an endpoint, newest first, after a delivery, at most `limit`.
    async fn webhook_deliveries(
        &self,
        id: WebhookId,
        after: Option<DeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDelivery>>;

    /// Makes a delivery of an endpoint due now, with all its tries, and ends a pause of the endpoint. Returns `NotFound`.
    async fn resend_delivery(&self, id: WebhookId, delivery: DeliveryId) -> StoreResult<WebhookDelivery>;

    /// Creates a test delivery to an endpoint, and ends a pause of the endpoint. Returns `NotFound`.
    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookDelivery>;

    /// Returns what a try of a delivery needs. Returns `NotFound` if it, its event or its endpoint was deleted, or the
    /// endpoint is disabled.
    async fn webhook_message(&self, delivery: DeliveryId) -> StoreResult<WebhookMessage>;
}
