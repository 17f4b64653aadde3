//! Stubs of providers of language, and the settings that lead to them.

use net::guard::Guards;
use providers::{llm::LanguageModels, name::ProviderName, settings::ProviderSettings};
use sim::stub_providers::{self, StubHandle, StubSettings};

/// The key the stubs take.
pub const KEY: &str = "sk-test-1";

/// Stubs that take one key only.
pub async fn stubs() -> StubHandle {
    let settings = StubSettings {
        key: Some(KEY.into()),
        ..StubSettings::on_loopback()
    };
    stub_providers::start(settings).await.unwrap()
}

/// Every provider at one stub.
pub fn settings(stub: &StubHandle) -> ProviderSettings {
    let address = stub.url();
    ProviderSettings::read(|name| match name {
        "ANTHROPIC_BASE_URL" | "AZURE_OPENAI_ENDPOINT" => Some(address.clone()),
        name if name.ends_with("_BASE_URL") => Some(format!("{address}/v1")),
        _ => Some(KEY.to_owned()),
    })
    .unwrap()
}

/// A router over one model.
pub fn model(name: &str, stub: &StubHandle) -> LanguageModels {
    let name: ProviderName = name.parse().unwrap();
    LanguageModels::new(vec![name], &settings(stub), &Guards::default()).unwrap()
}
