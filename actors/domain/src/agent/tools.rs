//! `builtInTools`: the six built-in tools of every agent.

use serde::{Deserialize, Serialize};

/// Most HTTP tools of an agent.
pub const MOST_TOOLS: usize = 64;

/// `builtInTools`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BuiltInTools {
    /// Ends the call.
    pub end_call: BuiltInTool,
    /// Switches language.
    pub language_detection: BuiltInTool,
    /// Says nothing this turn.
    pub skip_turn: BuiltInTool,
    /// Transfers the call to another agent.
    pub transfer_to_agent: TransferToAgent,
    /// Transfers the call to a number.
    pub transfer_to_number: TransferToNumber,
    /// Recognises a machine and leaves a message.
    pub voicemail_detection: VoicemailDetection,
}

/// Fields that all six tools have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BuiltInTool {
    /// Whether the model may use it.
    pub enabled: bool,
    /// Tells the model when to use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether its message is protected from barge-in.
    pub disable_interruption: bool,
}

/// `transferToAgent`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TransferToAgent {
    /// Fields that all tools have.
    #[serde(flatten)]
    pub tool: BuiltInTool,
    /// Possible transfers.
    pub transfers: Vec<AgentTransfer>,
}

/// One of `transferToAgent.transfers`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentTransfer {
    /// Id of the other agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Condition of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Milliseconds before the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    /// Message before the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_message: Option<String>,
    /// Whether the other agent greets.
    pub enable_transferred_agent_first_message: bool,
}

/// `transferToNumber`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TransferToNumber {
    /// Fields that all tools have.
    #[serde(flatten)]
    pub tool: BuiltInTool,
    /// Transfer rules of the account, offered after `transfers`.
    pub transfer_rule_ids: Vec<String>,
    /// Possible transfers.
    pub transfers: Vec<NumberTransfer>,
}

/// One of `transferToNumber.transfers`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NumberTransfer {
    /// `blind`, `conference` or `sip_refer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_type: Option<String>,
    /// Condition of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Destination.
    pub transfer_destination: TransferDestination,
}

/// `transferDestination`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TransferDestination {
    /// `phone` or `sip_uri`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number in E.164.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// SIP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sip_uri: Option<String>,
}

/// `voicemailDetection`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VoicemailDetection {
    /// Fields that all tools have.
    #[serde(flatten)]
    pub tool: BuiltInTool,
    /// Message left after the beep. If unset, the agent hangs up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voicemail_message: Option<String>,
}
