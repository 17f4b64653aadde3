//! Bodies that other readers than the schema's check.

use domain::agent::TransferDestination;
use utoipa::ToSchema;

use super::common::{Email, Name, PhoneNumberSent};

/// A contact to save. Up to 100 custom fields of 4 KiB each are stored, and are available as variables in calls.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewContact {
    /// Phone number; an account can have one contact per number.
    pub phone_number: PhoneNumberSent,
    /// Name of the person.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<Email>,
}

/// Changes of a contact (RFC 7396). `null` removes a field; custom fields are stored.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactPatch {
    /// New phone number.
    #[schema(required = false)]
    pub phone_number: PhoneNumberSent,
    /// New name.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// New e-mail address.
    pub email: Option<Email>,
}

/// A number to add to the list.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDoNotCallEntry {
    /// Phone number.
    pub phone_number: PhoneNumberSent,
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

/// Id of a document.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct DocumentId(pub String);

/// Changes of the settings (RFC 7396). `null` resets one to its default.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingsPatch {
    /// Country by whose plan numbers without `+` are read (ISO 3166, two letters).
    pub default_country: Option<String>,
    /// Zone of the times in files (IANA).
    pub timezone: Option<String>,
}

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
