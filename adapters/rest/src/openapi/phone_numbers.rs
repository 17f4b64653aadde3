//! Phone numbers of agents and carriers.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::described::{operation::Operation, samples};
use crate::resources::account::phone_numbers::NumberDetails;

/// The agent to which a number is assigned.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NumberAssignment {
    /// Agent that gets the number; `null` removes it from the `phoneNumbers` of all agents.
    #[schema(required = true, format = "uuid")]
    pub agent_id: Option<String>,
}

fn sample() -> Value {
    let agent = json!({ "agentId": samples::AGENT, "name": "Ava", "answers": true });
    json!({ "phoneNumber": samples::PHONE, "provider": "twilio", "agents": [agent] })
}

/// Returns the operations of phone numbers.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation::get(
            "/public/v1/phone-numbers",
            "listPhoneNumbers",
            "List phone numbers and their agents",
        )
        .ours()
        .note(
            "The numbers that agents of the account name, and those of the carriers that no agent of another account \
             names, in the order of their digits. The lists of Twilio, SignalWire and Telnyx are kept for 10 minutes; the \
             numbers of a carrier that does not answer are missing.",
        )
        .paged()
        .page::<NumberDetails>(sample()),
        Operation::patch(
            "/public/v1/phone-numbers/{phoneNumber}",
            "assignPhoneNumber",
            "Assign a number to an agent, or take it from all",
        )
        .ours()
        .note(
            "Has the effect of a change of the agent's `phoneNumbers`, with the same rules. Agents that only rotate \
             the number as a caller ID keep it.",
        )
        .body::<NumberAssignment>(json!({
            "assign": { "agentId": samples::AGENT },
            "remove": { "agentId": null },
        }))
        .ok::<NumberDetails>(sample())
        .missing("number")
        .conflict(
            "number_in_use",
            "+15550100010: belongs to another account, or is answered by another agent with direction `inbound` or \
             `both`; leave it out, or remove it from that agent first",
        ),
    ]
}
