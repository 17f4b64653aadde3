//! Lists of the configured providers and carriers: voices, language models, phone numbers.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::phone_number::PhoneNumber;

/// A voice of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedVoice {
    /// Voice as an agent's `voiceId`: `provider:voice`.
    pub voice_id: String,
    /// Name for people.
    pub name: String,
    /// Languages as the provider names them, such as `en` or `en-US`. Empty if it names none.
    pub languages: Vec<String>,
    /// Labels of the provider, such as `accent`.
    pub labels: BTreeMap<String, String>,
    /// HTTP address of a sample.
    pub preview_url: Option<String>,
}

/// List of one provider or carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer<T> {
    /// Name of the provider, such as `openai`, or of the carrier.
    pub provider: String,
    /// Items in the order of the provider, or a sentence without secrets on why the list is missing.
    pub items: Result<Vec<T>, String>,
}

/// Lists what the providers offer. The lists may be some minutes old.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Returns the voices of each configured provider, or only those of `provider`.
    async fn voices(&self, provider: Option<&str>) -> Vec<Offer<OfferedVoice>>;

    /// Returns the language models of each configured provider, or only those of `provider`. Each is named as an
    /// agent's `llm`: `provider/model`.
    async fn models(&self, provider: Option<&str>) -> Vec<Offer<String>>;
}

/// Lists the phone numbers of the carriers' accounts.
#[async_trait]
pub trait CarrierNumbers: Send + Sync {
    /// Returns the numbers of each configured carrier that lists them. The lists may be some minutes old.
    async fn numbers(&self) -> Vec<Offer<PhoneNumber>>;
}
