//! The fields of a contact, saved or of a campaign: one set of rules for both.

use domain::{agent::Problem, phone_number::PhoneNumber, template::VALUE_BYTES, time::Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    email::is_email,
    fields::{Fields, NAME_CHARACTERS},
};

/// Extra fields per contact.
pub const EXTRA_FIELDS: usize = 100;
/// Bytes of an extra field's value; as JSON unless it is a text.
pub const EXTRA_BYTES: usize = VALUE_BYTES;

const KNOWN: [&str; 3] = ["phoneNumber", "name", "email"];

/// A contact as a body gives it. Incomplete where there were problems.
#[derive(Debug, Default)]
pub struct ContactFields {
    /// Normalised.
    pub phone_number: Option<PhoneNumber>,
    /// Not blank.
    pub name: Option<String>,
    /// Checked.
    pub email: Option<String>,
    /// Every other field.
    pub extra: Map<String, Value>,
}

/// Reads a contact; the fields in `reserved` belong to the service and are refused, those in `handled` are the
/// caller's to read.
pub fn read(fields: &mut Fields<'_>, reserved: &[&str], handled: &[&str]) -> ContactFields {
    let phone_number = fields.required_phone_number("phoneNumber");
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
        phone_number,
        name: name.map(str::to_owned),
        email: email.map(str::to_owned),
        extra: extra(fields, reserved, handled),
    }
}

/// What is wrong with an extra field's name, under the start of it.
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
            problems.push((
                name,
                "not_allowed",
                "is a name of the service's own; choose another".to_owned(),
            ));
        } else if let Some(problem) = wrong_name(name) {
            problems.push((name, "not_allowed", problem.message));
        } else if size > EXTRA_BYTES {
            let message = format!("has {size} bytes; at most {EXTRA_BYTES} are kept");
            problems.push((name, "too_long", message));
        } else if extra.len() == EXTRA_FIELDS {
            let message = format!("is one extra field too many; at most {EXTRA_FIELDS} are kept");
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

/// `phoneNumber`, `name`, `email` and the extra fields, as they are shown at a contact's top level.
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
    /// ISO 8601, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl CreatedAt {
    /// Saved at that instant.
    pub fn of(at: Timestamp) -> Self {
        Self {
            created_at: at.to_iso8601(),
        }
    }
}
