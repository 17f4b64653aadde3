//! Secrets in texts and in the JSON of tools, which no record shows.

use serde_json::Value;

/// Replacement for a secret.
pub const HIDDEN: &str = "***";

/// Parts of the names of fields that hold secrets, in lower case without separators.
const SECRET_PARTS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "cardnumber",
];

/// Whole names of such fields.
const SECRET_NAMES: [&str; 6] = ["auth", "cvc", "cvv", "otp", "pin", "ssn"];

fn names_secret(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let name: String = letters.flat_map(char::to_lowercase).collect();
    SECRET_NAMES.contains(&&*name) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Returns a JSON value with its secrets hidden: the values of fields whose names tell so, and credentials in texts.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) => without_tokens(text).into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match names_secret(name) && !value.is_null() {
                true => (name.clone(), HIDDEN.into()),
                false => (name.clone(), masked(value)),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Removes credentials: the text after `Bearer` or `Basic`, signed tokens (`eyJ…`), and the proofs in our own
/// addresses (64 hex digits).
pub fn without_tokens(words: &str) -> String {
    let (mut rest, mut shown) = (words, String::with_capacity(words.len()));
    let mut announced = false;
    while let Some(first) = rest.chars().next() {
        let of_token = is_of_token(first);
        let end = rest.find(|c| is_of_token(c) != of_token).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        if !of_token {
            announced &= piece.chars().all(|c| matches!(c, ' ' | ':' | '"' | '\''));
            shown.push_str(piece);
            continue;
        }
        let signed = piece.starts_with("eyJ") && piece.len() >= 20;
        match signed || (announced && !is_word(piece)) {
            true => shown.push_str(HIDDEN),
            false => push_without_proofs(piece, &mut shown),
        }
        announced = ["bearer", "basic"]
            .iter()
            .any(|scheme| piece.eq_ignore_ascii_case(scheme));
    }
    shown
}

fn is_of_token(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=' | '~')
}

/// Returns whether this is an ordinary word, as in `Basic authentication failed.`
fn is_word(piece: &str) -> bool {
    let letters = piece.trim_end_matches('.');
    letters.chars().all(char::is_alphabetic) && !letters.chars().skip(1).any(char::is_uppercase)
}

fn push_without_proofs(piece: &str, shown: &mut String) {
    let mut rest = piece;
    while let Some(first) = rest.chars().next() {
        let hex = first.is_ascii_hexdigit();
        let end = rest.find(|c: char| c.is_ascii_hexdigit() != hex).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        shown.push_str(if hex && run.len() >= 64 { HIDDEN } else { run });
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_by_the_name_of_their_field_and_by_their_look() {
        let told = json!({
            "day": "Monday", "apiKey": "k1", "API_key": 7, "user-password": ["a"], "pin": "1234", "pinned": true,
            "nested": [{ "x-auth-token": null, "Authorization": { "a": 1 }, "note": "send Bearer KEY017f" }],
        });
        let shown = json!({
            "day": "Monday", "apiKey": "***", "API_key": "***", "user-password": "***", "pin": "***", "pinned": true,
            "nested": [{ "x-auth-token": null, "Authorization": "***", "note": "send Bearer ***" }],
        });
        assert_eq!(masked(&told), shown);
        assert_eq!(masked(&shown), shown);
    }
}
