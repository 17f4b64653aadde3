//! A problem of a request's field, as listed in `error.fields`.

use serde::Serialize;
use serde_json::Value;

/// Longest path, in characters. Names in it come from the client and are repeated for every problem below them.
const PATH_CHARACTERS: usize = 500;
/// Longest message, in characters; it may repeat what was sent.
const MESSAGE_CHARACTERS: usize = 5_000;
/// Most characters of a rejected value that a message repeats.
const SHOWN_CHARS: usize = 60;

/// A problem of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = FieldProblem)]
pub struct Problem {
    /// Dotted path with list indexes.
    #[schema(example = "contacts[0].phoneNumber")]
    pub path: String,
    /// Stable code, such as `required`, `wrong_type`, `out_of_range`, `unknown_field`, `not_allowed`, `not_found`.
    #[schema(value_type = String, example = "invalid_phone")]
    pub code: &'static str,
    /// Message for people; names the value and the way out.
    pub message: String,
}

impl Problem {
    /// Creates a problem of the field at `path`. Path and message are shortened far above the length that
    /// people read, so that problems that repeat a long name cannot fill the memory.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            path: shortened(path.into(), PATH_CHARACTERS),
            code,
            message: shortened(message.into(), MESSAGE_CHARACTERS),
        }
    }
}

/// Returns a value as messages show it: its JSON, shortened; for a list or an object only its type.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        other => {
            let text = other.to_string();
            match text.char_indices().nth(SHOWN_CHARS) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        }
    }
}

pub(crate) fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        // Copy the text, because truncating in place would keep the capacity of the whole.
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
