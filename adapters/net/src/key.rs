//! A secret key: it is shown nowhere, and taken out of texts that are shown.

use std::fmt;

use crate::redact;

/// A key. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Keeps a key.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        redact::hide(&text);
        Self(text)
    }

    /// For the header it is sent in.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}
