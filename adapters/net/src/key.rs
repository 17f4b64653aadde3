//! Secret keys, which are never shown and are removed from texts that are shown.

use std::fmt;

use crate::redact;

/// A secret key; its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Creates a key and registers it with [`redact::hide`].
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        redact::hide(&text);
        Self(text)
    }

    /// Returns the secret, for the header that carries it.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}
