//! The usable transfers of an agent: those with a destination that can be dialed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    schema::{
        rules::{SIP_CHARS, can_be_dialed},
        shape::{Mode, Walk, at},
        table::TRANSFER_RULE,
    },
    tools::{NumberTransfer, TransferDestination, TransferToNumber},
};
use crate::{
    phone_number::PhoneNumber,
    problem::Problem,
    transfer::{Destination, TransferKind},
};

/// Path of the tool in an agent's document.
const TOOL: &str = "conversationConfig.agent.prompt.builtInTools.transferToNumber";
/// Path of its transfers.
pub(super) const TRANSFERS: &str = "conversationConfig.agent.prompt.builtInTools.transferToNumber.transfers";

/// A usable transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableTransfer {
    /// Kind of the transfer.
    pub kind: TransferKind,
    /// Destination.
    pub to: Destination,
    /// Condition; may contain placeholders and may be empty.
    pub condition: String,
}

impl UsableTransfer {
    /// Returns a transfer as the service makes it; `None` if its destination cannot be dialed.
    pub fn of(transfer: &NumberTransfer) -> Option<Self> {
        Some(Self {
            kind: TransferKind::of(transfer.transfer_type.as_deref())?,
            to: destination(&transfer.transfer_destination)?,
            condition: transfer.condition.clone().unwrap_or_default().trim().to_owned(),
        })
    }

    /// Returns whether a model that names this destination means this transfer.
    pub fn is_to(&self, named: &str) -> bool {
        match &self.to {
            Destination::Phone(number) => PhoneNumber::stored(named).is_ok_and(|named| {
                let mut spellings = named.spellings().into_iter();
                spellings.any(|spelling| spelling == number.as_str())
            }),
            Destination::Sip(address) => address == named.trim(),
        }
    }
}

impl TransferToNumber {
    /// Returns the usable transfers in the agent's order; none while the tool is not enabled.
    pub fn usable(&self) -> Vec<UsableTransfer> {
        let all = self.transfers.iter().filter(|_| self.tool.enabled);
        all.filter_map(UsableTransfer::of).collect()
    }
}

fn destination(to: &TransferDestination) -> Option<Destination> {
    let phone = || {
        PhoneNumber::stored(to.phone_number.as_deref()?)
            .ok()
            .map(Destination::Phone)
    };
    let sip = || {
        let address = to.sip_uri.as_deref()?.trim();
        let scheme = ["sip:", "sips:"].iter().find(|scheme| {
            let start = address.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })?;
        let named = (scheme.len() + 1..=SIP_CHARS).contains(&address.len());
        (can_be_dialed(address) && named).then(|| Destination::Sip(address.to_owned()))
    };
    match to.kind.as_deref() {
        Some("phone") => phone(),
        Some("sip_uri") => sip(),
        None => phone().or_else(sip),
        Some(_) => None,
    }
}

/// A transfer that several agents offer. As JSON it is the body of the request that creates it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferRule {
    /// Name for people.
    pub name: String,
    /// The transfer.
    #[serde(flatten)]
    pub transfer: NumberTransfer,
}

/// Validates a transfer rule.
///
/// # Errors
///
/// Returns all problems of the body.
pub fn validate_transfer_rule(body: &Value) -> Result<TransferRule, Vec<Problem>> {
    let (stored, mut problems) = Walk::check(body, &TRANSFER_RULE, Mode::Whole);
    let stored = stored.unwrap_or_default();
    // It is read by itself, because a rule without its name cannot be read.
    let to = stored.get("transferDestination").cloned().unwrap_or_default();
    let to = TransferDestination::deserialize(to).unwrap_or_default();
    if !problems
        .iter()
        .any(|problem| problem.path.starts_with("transferDestination"))
        && let Some((field, message)) = lacks(&to)
    {
        problems.push(Problem::new(format!("transferDestination{field}"), "required", message));
    }
    match problems.is_empty() {
        true => Ok(TransferRule::deserialize(stored).unwrap_or_default()),
        false => Err(problems),
    }
}

/// Adds transfers after those in an agent's document that has the tool.
pub fn add_transfers<'a>(document: &mut Map<String, Value>, rules: impl Iterator<Item = &'a TransferRule>) {
    let mut names = TOOL.split('.');
    let first = names.next().and_then(|name| document.get_mut(name));
    let tool = names.fold(first, |at, name| at.and_then(|value| value.get_mut(name)));
    let Some(Value::Object(tool)) = tool else { return };
    if let Value::Array(transfers) = tool.entry("transfers").or_insert_with(|| json!([])) {
        transfers.extend(rules.map(|rule| json!(rule.transfer)));
    }
}

/// Returns the problems of transfers whose destination cannot be dialed.
pub(super) fn transfer_problems(document: &Map<String, Value>) -> Vec<Problem> {
    let tool = at(document, TOOL).and_then(|tool| TransferToNumber::deserialize(tool).ok());
    let transfers = tool.map(|tool| tool.transfers).unwrap_or_default();
    let unreached = transfers.iter().enumerate().filter_map(|(index, transfer)| {
        let (field, message) = lacks(&transfer.transfer_destination)?;
        let path = format!("{TRANSFERS}[{index}].transferDestination{field}");
        Some(Problem::new(path, "required", message))
    });
    unreached.collect()
}

/// Returns the field that a destination lacks, and why it is needed.
fn lacks(to: &TransferDestination) -> Option<(&'static str, &'static str)> {
    match (to.kind.as_deref(), &to.phone_number, &to.sip_uri) {
        (Some("phone"), None, _) => Some((".phoneNumber", "is required if `type` is `phone`")),
        (Some("sip_uri"), _, None) => Some((".sipUri", "is required if `type` is `sip_uri`")),
        (None, None, None) => Some((
            "",
            "has no destination: give `phoneNumber`, or `sipUri` with `type` `sip_uri`",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn usable(transfers: &Value) -> Vec<UsableTransfer> {
        let tool = json!({ "enabled": true, "transfers": transfers });
        serde_json::from_value::<TransferToNumber>(tool).unwrap().usable()
    }

    #[test]
    fn only_what_can_be_dialed_is_a_transfer() {
        let made = usable(&json!([
            { "transferDestination": { "type": "phone", "phoneNumber": "+1 555 010 0001" }, "condition": " sales " },
            { "transferType": "conference", "transferDestination": { "phoneNumber": "+15550100002" } },
            { "transferType": "sip_refer", "transferDestination": { "type": "sip_uri", "sipUri": "sip:desk@pbx.example" } },
            { "transferDestination": { "type": "phone", "phoneNumber": "reception" } },
            { "transferDestination": { "type": "phone", "sipUri": "sip:desk@pbx.example" } },
            { "transferDestination": { "type": "sip_uri", "sipUri": "mailto:desk@pbx.example" } },
            { "transferDestination": { "type": "sip_uri", "sipUri": "sip:" } },
            { "transferDestination": { "type": "sip_uri", "sipUri": "sip:a b@pbx.example" } },
            { "condition": "always" },
        ]));
        let told: Vec<_> = made
            .iter()
            .map(|made| (made.kind, made.to.as_str(), made.condition.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (TransferKind::Blind, "+15550100001", "sales"),
                (TransferKind::Conference, "+15550100002", ""),
                (TransferKind::SipRefer, "sip:desk@pbx.example", ""),
            ]
        );
        assert!(made[0].is_to("+1 (555) 010-0001") && made[2].is_to("sip:desk@pbx.example"));
        assert!(!made[0].is_to("+15550100002") && !made[2].is_to("sip:desk@pbx.example;x"));
    }

    #[test]
    fn a_tool_that_is_not_enabled_has_none() {
        let tool = json!({ "transfers": [{ "transferDestination": { "phoneNumber": "+15550100001" } }] });
        assert!(
            serde_json::from_value::<TransferToNumber>(tool)
                .unwrap()
                .usable()
                .is_empty()
        );
    }

    #[test]
    fn each_mistake_in_a_rule_is_one_problem() {
        let rule = |name: Value, number: Value| {
            let body = json!({ "name": name, "transferDestination": { "type": "phone", "phoneNumber": number } });
            let problems = validate_transfer_rule(&body).map(drop).err().unwrap_or_default();
            let found = problems.into_iter().map(|problem| (problem.path, problem.code));
            found.collect::<Vec<_>>()
        };
        let number = json!("+15550100001");
        for blank in [json!(null), json!(""), json!(" ")] {
            assert_eq!(rule(blank, number.clone()), [("name".to_owned(), "required")]);
        }
        assert_eq!(rule(json!(7), number.clone()), [("name".to_owned(), "wrong_type")]);
        let path = "transferDestination.phoneNumber".to_owned();
        assert_eq!(rule(json!("Desk"), json!("reception")), [(path, "invalid_phone")]);
        assert!(rule(json!("Desk"), number).is_empty());
    }
}
