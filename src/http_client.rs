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

/// A client that takes no proxy from the environment: calls to carriers and providers must not be repeated, or
/// read, by something between.
pub fn builder() -> reqwest::ClientBuilder {
    install_cryptography();
    reqwest::Client::builder().no_proxy()
}
