//! A problem of a request's field, as `error.fields` lists it.

use serde::Serialize;

/// Characters of a path: names in it come from the client, and are repeated for every problem below them.
const PATH_CHARACTERS: usize = 500;
/// Characters of a message, which may repeat what was sent.
const MESSAGE_CHARACTERS: usize = 5_000;

/// One thing that is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = FieldProblem)]
pub struct Problem {
    /// Dotted path with list indexes.
    #[schema(example = "contacts[0].phoneNumber")]
    pub path: String,
    /// Stable code, such as `required`, `wrong_type`, `out_of_range`, `unknown_field`, `not_allowed`, `not_found`.
    #[schema(value_type = String, example = "invalid_phone")]
    pub code: &'static str,
    /// For people: names the value and the way out.
    pub message: String,
}

impl Problem {
    /// A problem of the field at `path`. Path and message are cut where they are far longer than people read, so that
    /// a long name cannot fill the memory with problems that repeat it.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            path: shortened(path.into(), PATH_CHARACTERS),
            code,
            message: shortened(message.into(), MESSAGE_CHARACTERS),
        }
    }
}

fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        // A copy: cutting in place would keep the room of the whole.
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
