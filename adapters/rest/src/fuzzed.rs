//! Parsers of client input, for fuzzing.

use std::io::Cursor;

use crate::{request::strict_json as json, resources::campaign_csv};

/// Parses a JSON body. An accepted body must also be valid for `serde_json`, with the same value.
pub fn strict_json(data: &[u8]) {
    if let Ok(value) = json::parse(data) {
        assert_eq!(serde_json::from_slice::<serde_json::Value>(data).ok(), Some(value));
    }
}

/// Checks an e-mail address.
pub fn email(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = crate::request::email::is_email(text);
    }
}

/// Reads a file of contacts.
pub fn csv(data: &[u8]) {
    campaign_csv::fuzzed(Cursor::new(data));
}

/// Reads a list cursor. A made-up one must not be accepted.
pub fn cursor(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let binding = crate::request::cursor::Binding::new(domain::id::AccountId::new(), "calls", String::new());
        assert!(binding.place(text).is_none() && binding.place_of(text).is_none());
    }
}
