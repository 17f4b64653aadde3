//! Fields of contacts, saved or in a campaign, with one set of rules for both.

use domain::{
    account_settings::AccountSettings, agent::Problem, phone_number::PhoneNumber, template::VALUE_BYTES,
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    call_overrides::unknown_override,
    fields::{NAME_CHARACTERS, Reason},
};

/// Maximum custom fields per contact.
pub const EXTRA_FIELDS: usize = 100;
/// Maximum bytes of a custom field's value; as JSON unless it is a text.
pub const EXTRA_BYTES: usize = VALUE_BYTES;

/// Headers that a file of contacts cannot have, as [`plain`] writes them.
const RESERVED_HEADERS: [&str; 2] = ["contactid", "metadata"];

/// Reads a phone number that one of the account's users wrote. Returns it in E.164.
pub fn phone_number(settings: &AccountSettings, text: &str) -> Result<String, Reason> {
    let number = settings.phone_number(text);
    let number = number.map_err(|error| ("invalid_phone", error.to_string()))?;
    Ok(number.to_string())
}

/// Trims a name. One that is blank is none.
pub fn person(name: Option<String>) -> Option<String> {
    let name = name.map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty())
}

/// Returns the problem of an invalid field name, under the start of that name.
pub fn wrong_name(name: &str) -> Option<Problem> {
    let is_wrong = name.trim().is_empty() || name.chars().count() > NAME_CHARACTERS;
    is_wrong.then(|| {
        let shown: String = name.chars().take(NAME_CHARACTERS).collect();
        let message = format!("a field's name has 1 to {NAME_CHARACTERS} characters");
        Problem::new(shown, "not_allowed", message)
    })
}

/// Returns the problems of custom fields, with the start of the field's name as the path. Names in `reserved` belong to
/// the service.
pub fn problems(extra: &Map<String, Value>, reserved: &[&str]) -> Vec<Problem> {
    let (mut problems, mut sound) = (Vec::new(), 0);
    for (name, value) in extra {
        let size = match value {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        let (code, message) = if reserved.contains(&name.as_str()) {
            ("not_allowed", "is a reserved name; choose another".to_owned())
        } else if let Some(problem) = wrong_name(name) {
            ("not_allowed", problem.message)
        } else if size > EXTRA_BYTES {
            (
                "too_long",
                format!("has {size} bytes; at most {EXTRA_BYTES} are allowed"),
            )
        } else if sound == EXTRA_FIELDS {
            let message = format!("is one custom field too many; at most {EXTRA_FIELDS} are allowed");
            ("too_many", message)
        } else {
            sound += 1;
            continue;
        };
        let name: String = name.chars().take(NAME_CHARACTERS).collect();
        problems.push(Problem::new(name, code, message));
    }
    problems
}

/// Returns `phoneNumber`, `name`, `email` and the custom fields, as they appear at the top level of a contact.
pub fn show(
    phone_number: &PhoneNumber,
    name: Option<&str>,
    email: Option<&str>,
    extra: &Map<String, Value>,
) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("phoneNumber".into(), json!(phone_number));
    for (field, value) in [("name", name), ("email", email)] {
        if let Some(text) = value {
            shown.insert(field.into(), json!(text));
        }
    }
    for (field, value) in extra {
        shown.entry(field.clone()).or_insert_with(|| value.clone());
    }
    shown
}

/// When a contact was saved.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ContactMetadata)]
pub struct CreatedAt {
    /// When the contact was saved; ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl CreatedAt {
    /// Creates the object for this time.
    pub fn of(at: Timestamp) -> Self {
        Self {
            created_at: at.to_iso8601(),
        }
    }
}

/// Returns a header in lower case without white space, `_` and `-`.
pub fn plain(header: &str) -> String {
    header
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns why a file of contacts cannot have this header.
pub fn header_refusal(header: &str) -> Option<String> {
    if RESERVED_HEADERS.contains(&plain(header).as_str()) {
        return Some("is a reserved name; rename the column".to_owned());
    }
    unknown_override(header).map(|why| format!("is not allowed: {why}"))
}
