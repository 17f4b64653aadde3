//! Azure: OpenAI's models, each at the address of its deployment.

use crate::{
    endpoint::{Address, Endpoint, hosted},
    name::path_segment,
    protocols::llm::chat::Chat,
    provider::{Llm, Provider},
    registry::openai::gpt,
};

/// Version of the API, the newest that is generally available.
const VERSION: &str = "2024-10-21";

pub(crate) static AZURE: Provider = Provider {
    name: "azure",
    address: Some(Address {
        base: "AZURE_OPENAI_ENDPOINT",
        default_base: None,
        key_header: ("api-key", ""),
        ..hosted!("AZURE_OPENAI", "")
    }),
    llm: Llm::api(
        "",
        &Chat {
            url,
            has_model_in_path: true,
            ..gpt::CHAT
        },
    ),
    ..Provider::NONE
};

fn url(endpoint: &Endpoint, model: &str) -> String {
    let base = endpoint.base_url.as_str();
    if base.ends_with("/openai/v1") {
        return endpoint.url("/chat/completions");
    }
    let base = base.strip_suffix("/openai").unwrap_or(base);
    let deployment = path_segment(model);
    format!("{base}/openai/deployments/{deployment}/chat/completions?api-version={VERSION}")
}
