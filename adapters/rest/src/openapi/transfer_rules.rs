//! Transfer rules.

use domain::agent::TransferDestination;
use serde_json::json;
use utoipa::ToSchema;

use super::{common::Name, operation::Operation, samples};
use crate::resources::agents::transfer_rules::{ShownRule, TransferRuleDeleted, TransferType};

/// A transfer rule to create.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTransferRule {
    /// Name for people.
    pub name: Name,
    /// Kind of the transfer; `blind` by default.
    pub transfer_type: Option<TransferType>,
    /// Condition of the transfer, for the model. May contain `{{placeholders}}`.
    pub condition: Option<String>,
    /// Destination: a phone number or a SIP address.
    pub transfer_destination: TransferDestination,
}

/// Changes of a transfer rule (RFC 7396).
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferRulePatch {
    /// New name.
    #[schema(required = false)]
    pub name: Name,
    /// New kind of the transfer.
    pub transfer_type: Option<TransferType>,
    /// New condition.
    pub condition: Option<String>,
    /// Merged into the destination.
    #[schema(required = false)]
    pub transfer_destination: TransferDestination,
}

/// Returns the operations of transfer rules.
pub fn operations() -> Vec<Operation> {
    let phone = json!({ "type": "phone", "phoneNumber": samples::PHONE });
    let desk = json!({ "type": "sip_uri", "sipUri": "sip:desk@example.com" });
    let least = json!({ "name": "Reception", "transferDestination": phone });
    let more = json!({ "name": "Desk", "transferType": "conference", "condition": "asks for a person",
                       "transferDestination": desk });
    let one = "/public/v1/transfer-rules/{transferRuleId}";
    vec![
        Operation::get(
            "/public/v1/transfer-rules",
            "listTransferRules",
            "List transfer rules, newest first",
        )
        .ours()
        .paged()
        .page::<ShownRule>(samples::transfer_rule()),
        Operation::post(
            "/public/v1/transfer-rules",
            "createTransferRule",
            "Create a transfer rule",
        )
        .ours()
        .idempotent()
        .body::<NewTransferRule>(json!({ "least": least, "more": more }))
        .versioned()
        .created::<ShownRule>(samples::transfer_rule())
        .link("read", "getTransferRule", "transferRuleId", "/data/transferRuleId")
        .link("change", "updateTransferRule", "transferRuleId", "/data/transferRuleId")
        .link("delete", "deleteTransferRule", "transferRuleId", "/data/transferRuleId")
        .invalid(
            "transferDestination.phoneNumber",
            "required",
            "is required if `type` is `phone`",
        ),
        Operation::get(one, "getTransferRule", "Read a transfer rule")
            .ours()
            .versioned()
            .ok::<ShownRule>(samples::transfer_rule()),
        Operation::patch(one, "updateTransferRule", "Change a transfer rule")
            .ours()
            .body::<TransferRulePatch>(json!({ "nothing": {}, "some": { "condition": "asks for a person" } }))
            .versioned()
            .ok::<ShownRule>(samples::transfer_rule())
            .invalid("name", "required", "is required and has no default"),
        Operation::delete(one, "deleteTransferRule", "Delete a transfer rule")
            .ours()
            .ok::<TransferRuleDeleted>(json!({ "transferRuleId": samples::TRANSFER_RULE, "deleted": true }))
            .conflict("in_use", "this transfer rule is in use by agent `Ava`"),
    ]
}
