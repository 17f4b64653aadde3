//! Transfer rules: transfers to numbers that several agents offer.

use domain::{
    agent::{TransferRule, validate_transfer_rule},
    id::{AccountId, TransferRuleId},
    ports::store::{KeyTicket, Removal, StoreResult, TransferRuleRow},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    described::{bodies::NewTransferRule, operation::Operation, samples},
    resources::resource::{self, ChangeTimes, Examples, Names, Resource},
    response::error::{ApiError, ApiResult},
    state::RestState,
};

/// A transfer rule.
#[derive(Serialize, ToSchema)]
#[schema(as = TransferRule)]
#[serde(rename_all = "camelCase")]
pub struct ShownRule {
    /// Id of the rule.
    #[schema(value_type = String, format = "uuid")]
    transfer_rule_id: TransferRuleId,
    #[serde(flatten)]
    #[schema(value_type = NewTransferRule)]
    rule: TransferRule,
    /// When the rule was created and last changed.
    metadata: ChangeTimes,
}

impl Resource for TransferRuleRow {
    const NAMES: Names = Names {
        list: "/public/v1/transfer-rules",
        one: "/public/v1/transfer-rules/{transferRuleId}",
        id: "transferRuleId",
        thing: "transfer rule",
        things: "transfer rules",
        type_name: "TransferRule",
        creation: "create transfer rule",
        nested: &["transferDestination"],
    };
    type Id = TransferRuleId;
    type Body = TransferRule;
    type Shown = ShownRule;

    fn place(&self) -> (Timestamp, String) {
        (self.created_at, self.id.to_string())
    }

    fn version(&self) -> i64 {
        self.version
    }

    fn body(&self) -> Value {
        json!(self.rule)
    }

    fn shown(&self) -> ShownRule {
        ShownRule {
            transfer_rule_id: self.id,
            rule: self.rule.clone(),
            metadata: ChangeTimes::of(self.created_at, self.updated_at),
        }
    }

    fn read(_: &RestState, body: &Map<String, Value>) -> ApiResult<TransferRule> {
        validate_transfer_rule(&Value::Object(body.clone())).map_err(ApiError::Invalid)
    }

    async fn create(
        state: &RestState,
        account: AccountId,
        new: TransferRule,
        ticket: Option<&KeyTicket>,
    ) -> ApiResult<Self> {
        Ok(state.store.create_transfer_rule(account, new, ticket).await?)
    }

    async fn find(state: &RestState, account: AccountId, id: TransferRuleId) -> StoreResult<Self> {
        state.store.transfer_rule(account, id).await
    }

    async fn page(
        state: &RestState,
        account: AccountId,
        after: Option<(Timestamp, TransferRuleId)>,
        limit: i64,
    ) -> StoreResult<Vec<Self>> {
        state.store.transfer_rules(account, after, limit).await
    }

    async fn change(
        self,
        state: &RestState,
        account: AccountId,
        id: TransferRuleId,
        new: TransferRule,
    ) -> StoreResult<Self> {
        state.store.update_transfer_rule(account, id, self.version, new).await
    }

    async fn remove(state: &RestState, account: AccountId, id: TransferRuleId) -> StoreResult<Removal> {
        state.store.delete_transfer_rule(account, id).await
    }
}

/// Returns the operations of transfer rules.
pub fn operations() -> Vec<Operation> {
    let phone = json!({ "type": "phone", "phoneNumber": samples::PHONE });
    let desk = json!({ "type": "sip_uri", "sipUri": "sip:desk@example.com" });
    let least = json!({ "name": "Reception", "transferDestination": phone });
    let more = json!({ "name": "Desk", "transferType": "conference", "condition": "asks for a person",
                       "transferDestination": desk });
    let examples = Examples {
        shown: samples::transfer_rule(),
        created: samples::transfer_rule(),
        new: json!({ "least": least, "more": more }),
        change: json!({ "condition": "asks for a person" }),
    };
    let [list, create, show, change, delete] = resource::operations::<TransferRuleRow, NewTransferRule>(&examples);
    let lacks = "is required if `type` is `phone`";
    vec![
        list,
        create.invalid("transferDestination.phoneNumber", "required", lacks),
        show,
        change.invalid("name", "required", "is required and has no default"),
        delete.conflict("in_use", "this transfer rule is in use by agent `Ava`"),
    ]
}
