//! Where every HTTP client of the service begins.

use std::sync::Once;

static CRYPTOGRAPHY: Once = Once::new();

/// Installs the one provider of cryptography for every TLS connection of the process: a client, or a database
/// connection, that finds none panics.
pub fn install_cryptography() {
    CRYPTOGRAPHY.call_once(|| {
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another provider of cryptography is installed");
        }
    });
}

/// An address that paths can be put behind: of HTTP, with nothing after its path, and without a slash at its end. None
/// when the text is no such address.
pub fn base_url(text: &str) -> Option<String> {
    let http = text.starts_with("http://") || text.starts_with("https://");
    let sound = http && !text.contains(['?', '#', ' ']) && reqwest::Url::parse(text).is_ok();
    sound.then(|| text.trim_end_matches('/').to_owned())
}

/// A client that takes no proxy from the environment: calls to carriers and providers must not be repeated, or
/// read, by something between.
pub fn builder() -> reqwest::ClientBuilder {
    install_cryptography();
    reqwest::Client::builder().no_proxy()
}
