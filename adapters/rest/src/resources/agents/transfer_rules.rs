//! Transfer rules: transfers to numbers that several agents offer.

use axum::{Router, extract::State, response::Response, routing::get};
use domain::{
    agent::{TransferDestination, TransferRule, validate_transfer_rule},
    id::TransferRuleId,
    ports::store::TransferRuleRow,
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::tools::ChangeTimes;
use crate::{
    access::idempotency::{IdempotencyKey, RequestHash},
    caller::Caller,
    request::{
        body::JsonObject,
        cursor::Binding,
        fields::patched,
        optimistic::{IfMatch, until_written},
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch, removed},
    },
    state::RestState,
};

/// Name of the resource in messages.
const THING: &str = "transfer rule";

/// A transfer rule.
#[derive(Serialize, ToSchema)]
#[schema(as = TransferRule)]
#[serde(rename_all = "camelCase")]
pub struct ShownRule {
    /// Id of the rule.
    #[schema(value_type = String, format = "uuid")]
    pub transfer_rule_id: TransferRuleId,
    /// Name for people.
    pub name: String,
    /// Kind of the transfer; `blind` if it is missing.
    #[schema(value_type = Option<TransferType>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_type: Option<String>,
    /// Condition of the transfer, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Destination.
    pub transfer_destination: TransferDestination,
    /// When the rule was created and last changed.
    pub metadata: ChangeTimes,
}

/// Kind of a transfer.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum TransferType {
    /// The agent leaves the call at once.
    Blind,
    /// The agent leaves the call when the destination has answered.
    Conference,
    /// The caller's network calls the destination.
    SipRefer,
}

/// Id of a deleted transfer rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferRuleDeleted {
    /// Id of the rule.
    #[schema(value_type = String, format = "uuid")]
    pub transfer_rule_id: TransferRuleId,
    /// Always true.
    pub deleted: bool,
}

/// Returns the routes below `/public/v1/transfer-rules`.
pub fn routes() -> Router<RestState> {
    let one = get(show).patch(patch).delete(delete);
    Router::new()
        .route("/public/v1/transfer-rules", get(list).post(create))
        .route("/public/v1/transfer-rules/{transferRuleId}", one)
}

async fn create(
    State(state): State<RestState>,
    Caller(account): Caller,
    key: IdempotencyKey,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let hash = || RequestHash::of_json(&body);
    let turn = key.take(&state, account.id, "create transfer rule", hash);
    turn.await?
        .answer(
            async |ticket| {
                let new = read(&Value::Object(body.clone()))?;
                let made = state.store.create_transfer_rule(account.id, new, ticket.as_ref());
                Ok(made.await?)
            },
            async |id| state.store.transfer_rule(account.id, id).await.or_no_such(THING),
            |row| Reply::created(view(row)).version(row.version),
        )
        .await
}

fn read(body: &Value) -> ApiResult<TransferRule> {
    validate_transfer_rule(body).map_err(ApiError::Invalid)
}

async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "transfer rules", String::new());
    let after = binding.after(paging.cursor.as_deref())?;
    let rows = state.store.transfer_rules(account.id, after, paging.page_size + 1);
    Ok(binding.page(rows.await?, paging.page_size, view, |row| {
        (row.created_at, row.id.to_string())
    }))
}

async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<TransferRuleId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let row = state.store.transfer_rule(account.id, id).await.or_no_such(THING)?;
    Ok(Reply::ok(view(&row)).version(row.version))
}

/// Applies a merge patch; `null` removes a field.
async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<TransferRuleId>,
    expected: IfMatch,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let row = state.store.transfer_rule(account.id, id).await.or_no_such(THING)?;
        expected.check(row.version)?;
        let new = read(&patched(json!(row.rule), &patch, &["transferDestination"]))?;
        let update = state.store.update_transfer_rule(account.id, id, row.version, new);
        Ok(update.await)
    });
    let row = outcome.await?.or_no_such(THING)?;
    Ok(Reply::ok(view(&row)).version(row.version))
}

async fn delete(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<TransferRuleId>,
    _: Query<NoParameters>,
) -> ApiResult<Reply> {
    let removal = state.store.delete_transfer_rule(account.id, id).await;
    removed(removal.or_no_such(THING)?, THING)?;
    Ok(Reply::ok(TransferRuleDeleted {
        transfer_rule_id: id,
        deleted: true,
    }))
}

fn view(row: &TransferRuleRow) -> ShownRule {
    let TransferRule { name, transfer } = row.rule.clone();
    ShownRule {
        transfer_rule_id: row.id,
        name,
        transfer_type: transfer.transfer_type,
        condition: transfer.condition,
        transfer_destination: transfer.transfer_destination,
        metadata: ChangeTimes::of(row.created_at, row.updated_at),
    }
}
