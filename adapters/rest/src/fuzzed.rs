//! The readers of clients' texts, for fuzzing.

use std::io::Cursor;

use super::{campaign_csv, strict_json as json};

/// JSON bodies: what is taken is what `serde_json` reads, too.
pub fn strict_json(data: &[u8]) {
    if let Ok(value) = json::parse(data) {
        assert_eq!(serde_json::from_slice::<serde_json::Value>(data).ok(), Some(value));
    }
}

/// E-mail addresses.
pub fn email(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = super::email::is_email(text);
    }
}

/// Files of contacts.
pub fn csv(data: &[u8]) {
    campaign_csv::fuzzed(Cursor::new(data));
}

/// Cursors of lists: none that is made up is taken.
pub fn cursor(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let binding = super::cursor::Binding::new(domain::id::AccountId::new(), "calls", String::new());
        assert!(binding.place(text).is_none() && binding.place_of(text).is_none());
    }
}
