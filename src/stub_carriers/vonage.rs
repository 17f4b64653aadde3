//! stub
/// The key.
pub const PRIVATE_KEY: &str = include_str!("vonage/application.pem");
