//! A problem of a request's field, as `error.fields` lists it.

use serde::Serialize;

/// One thing that is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Dotted path with list indexes, such as `contacts[0].phoneNumber`.
    pub path: String,
    /// Stable code, such as `required`, `wrong_type`, `out_of_range`, `unknown_field`, `not_allowed`, `not_found`.
    pub code: &'static str,
    /// For people: names the value and the way out.
    pub message: String,
}

impl Problem {
    /// A problem of the field at `path`.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            code,
            message: message.into(),
        }
    }
}
