//! Fields of contacts, saved or in a campaign, with one set of rules for both.

use domain::{agent::Problem, phone_number::PhoneNumber, template::VALUE_BYTES, time::Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    call_overrides::unknown_override,
    email::is_email,
    fields::{Fields, NAME_CHARACTERS},
};

/// Maximum custom fields per contact.
pub const EXTRA_FIELDS: usize = 100;
/// Maximum bytes of a custom field's value; as JSON unless it is a text.
pub const EXTRA_BYTES: usize = VALUE_BYTES;

/// Headers that a file of contacts cannot have, as [`plain`] writes them.
const RESERVED_HEADERS: [&str; 2] = ["contactid", "metadata"];

const KNOWN: [&str; 3] = ["phoneNumber", "name", "email"];

/// A contact from a body, without its number. Incomplete if there were problems.
#[derive(Debug, Default)]
pub struct ContactFields {
    /// Name; not blank.
    pub name: Option<String>,
    /// Valid e-mail address.
    pub email: Option<String>,
    /// All other fields.
    pub extra: Map<String, Value>,
}

/// Reads a contact without its number. Fields in `reserved` belong to the service and are rejected. Fields in `handled`
/// are left to the caller.
pub fn read(fields: &mut Fields<'_>, reserved: &[&str], handled: &[&str]) -> ContactFields {
    let name = fields.string("name").map(str::trim).filter(|name| !name.is_empty());
    if name.is_some_and(|name| name.chars().count() > NAME_CHARACTERS) {
        let message = format!("has more than {NAME_CHARACTERS} characters");
        fields.problem("name", "too_long", message);
    }
    let email = fields.string("email").map(str::trim);
    if let Some(text) = email.filter(|text| !is_email(text)) {
        let shown: String = text.chars().take(100).collect();
        fields.problem("email", "invalid_email", format!("`{shown}` is not an e-mail address"));
    }
    ContactFields {
        name: name.map(str::to_owned),
        email: email.map(str::to_owned),
        extra: extra(fields, reserved, handled),
    }
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

fn extra(fields: &mut Fields<'_>, reserved: &[&str], handled: &[&str]) -> Map<String, Value> {
    let mut extra = Map::new();
    let mut problems = Vec::new();
    for (name, value) in fields.others(&KNOWN) {
        if handled.contains(&name.as_str()) {
            continue;
        }
        let size = match value {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        if reserved.contains(&name.as_str()) {
            problems.push((name, "not_allowed", "is a reserved name; choose another".to_owned()));
        } else if let Some(problem) = wrong_name(name) {
            problems.push((name, "not_allowed", problem.message));
        } else if size > EXTRA_BYTES {
            let message = format!("has {size} bytes; at most {EXTRA_BYTES} are allowed");
            problems.push((name, "too_long", message));
        } else if extra.len() == EXTRA_FIELDS {
            let message = format!("is one custom field too many; at most {EXTRA_FIELDS} are allowed");
            problems.push((name, "too_many", message));
        } else {
            extra.insert(name.clone(), value.clone());
        }
    }
    for (name, code, message) in problems {
        let name: String = name.chars().take(NAME_CHARACTERS).collect();
        fields.problem(&name, code, message);
    }
    extra
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
