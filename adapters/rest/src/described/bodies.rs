//! Bodies, and parts of bodies, that other readers than the schema's check.

use domain::agent::TransferDestination;
use serde::Deserialize;
use utoipa::ToSchema;

use super::common::Name;

/// Fields of an agent that one call overrides.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallOverrides {
    /// Instructions; not blank.
    #[schema(max_length = 500_000, pattern = r"\S")]
    pub prompt: Option<String>,
    /// Greeting; if it is empty, the user speaks first.
    #[schema(max_length = 10_000)]
    pub greeting_message: Option<String>,
    /// Voice, as the agent's `tts.voiceId`.
    #[schema(max_length = 200, pattern = r"\S")]
    pub voice_id: Option<String>,
    /// Model, as the agent's `prompt.llm`.
    #[schema(max_length = 200, pattern = r"\S")]
    pub llm: Option<String>,
    /// Side that speaks first. With `user`, the agent does not greet.
    pub first_speaker: Option<FirstSpeaker>,
    /// Maximum duration of the call in seconds.
    #[schema(minimum = 1, maximum = 14_400)]
    pub max_duration_seconds: Option<i64>,
}

/// Side that speaks first.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum FirstSpeaker {
    /// The agent.
    Agent,
    /// The user.
    User,
}

/// Name of a `{{placeholder}}`; not blank.
#[derive(ToSchema)]
#[schema(max_length = 200, pattern = r"\S")]
pub struct VariableName(pub String);

/// Value of a `{{placeholder}}`.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum Variable {
    /// Text of at most 4 KiB.
    Text(String),
    /// A number.
    Number(f64),
    /// A boolean.
    Flag(bool),
}

/// A file to create a document from.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFileDocument {
    /// File: plain text, Markdown, HTML or PDF.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    pub file: String,
    /// Name of the document; by default that of the file.
    #[schema(required = false)]
    pub name: Name,
}

/// Id of a contact.
#[derive(Deserialize, ToSchema)]
#[schema(format = "uuid")]
pub struct ContactId(pub String);

/// Minutes, up to a week.
#[derive(ToSchema)]
#[schema(minimum = 1, maximum = 10_080)]
pub struct Minutes(pub i64);

/// Id of a document.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct DocumentId(pub String);

/// A transfer rule, as its account sets it.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
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
