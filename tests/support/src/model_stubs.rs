//! Stubs of language model providers, and the settings that lead to them.

use net::guard::Guards;
use providers::{llm::LanguageModels, name::ProviderName, settings::ProviderSettings};
use sim::stub_providers::{self, StubHandle, StubSettings};

/// Key that the stubs accept.
pub const KEY: &str = "sk-test-1";

/// Starts stubs that accept only one key.
pub async fn stubs() -> StubHandle {
    let settings = StubSettings {
        key: Some(KEY.into()),
        ..StubSettings::on_loopback()
    };
    stub_providers::start(settings).await.unwrap()
}

/// Returns settings with every provider at one stub.
pub fn settings(stub: &StubHandle) -> ProviderSettings {
    let address = stub.url();
    ProviderSettings::read(|name| match name {
        "ANTHROPIC_BASE_URL"
        | "AZURE_OPENAI_ENDPOINT"
        | "CARTESIA_BASE_URL"
        | "DEEPGRAM_BASE_URL"
        | "ELEVENLABS_BASE_URL" => Some(address.clone()),
        name if name.ends_with("_BASE_URL") => Some(format!("{address}/v1")),
        _ => Some(KEY.to_owned()),
    })
    .unwrap()
}

/// Returns a router over one model.
pub fn model(name: &str, stub: &StubHandle) -> LanguageModels {
    let name: ProviderName = name.parse().unwrap();
    LanguageModels::new(vec![name], &settings(stub), &Guards::default()).unwrap()
}
